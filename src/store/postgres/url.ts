import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { AppError } from '../../errors.ts'
import { Secret } from '../../log.ts'
import { isLoopback } from '../../loopback.ts'

const sslModes = ['disable', 'require', 'verify-ca', 'verify-full'] as const
const parameters = ['host', 'sslmode', 'sslrootcert']

/** The address of a PostgreSQL database and how to connect to it. */
export interface PostgresAddress {
  /** A host name or address, or the folder of a Unix socket. */
  host: string
  port: number
  user: string
  password: Secret | undefined
  database: string
  ssl: ConnectionOptions | false
  /** Host, port and database without credentials, safe for messages. */
  label: string
}

/**
 * Parses `postgres://user:password@host:port/database?sslmode=…&sslrootcert=/file`. `sslmode` is `disable`, `require`
 * (encrypted, the server is not verified), `verify-ca` or `verify-full`; the default is `disable` for this machine
 * and `verify-full` for any other. `host=/folder` names a Unix socket. Throws `AppError` of kind `invalid`.
 */
export function readPostgresUrl(url: string): PostgresAddress {
  const parsed = parse(url)
  const unknown = [...parsed.searchParams.keys()].find((name) => !parameters.includes(name))
  if (unknown !== undefined) {
    throw invalid(`the parameter ${unknown} is unknown; use ${parameters.join(', ')}`)
  }
  const host = parsed.searchParams.get('host') ?? parsed.hostname
  const port = parsed.port === '' ? 5432 : Number(parsed.port)
  const database = decoded(parsed.pathname.slice(1))
  if (host === '' || database === '' || parsed.username === '') {
    throw invalid('it must name a user, a host and a database')
  }
  return {
    host: host.replace(/^\[(.*)\]$/, '$1'),
    port,
    user: decoded(parsed.username),
    password: parsed.password === '' ? undefined : new Secret(decoded(parsed.password)),
    database,
    ssl: tlsOptions(host, parsed.searchParams),
    label: `${host}:${port}/${database}`,
  }
}

function parse(url: string): URL {
  try {
    return new URL(url)
  } catch {
    throw invalid('it is not a URL')
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw invalid('its percent-encoding is broken')
  }
}

function tlsOptions(host: string, search: URLSearchParams): ConnectionOptions | false {
  const isHere = host.startsWith('/') || isLoopback(host)
  const mode = search.get('sslmode') ?? (isHere ? 'disable' : 'verify-full')
  if (!(sslModes as readonly string[]).includes(mode)) {
    throw invalid(`sslmode must be one of ${sslModes.join(', ')}`)
  }
  if (mode === 'disable') return false
  const file = search.get('sslrootcert')
  const ca = file === null ? {} : { ca: readCertificate(file) }
  // As in libpq, `require` verifies the certificate if a CA file is given.
  if (mode === 'require' && file === null) return { rejectUnauthorized: false }
  return mode === 'verify-full' ? ca : { ...ca, checkServerIdentity: () => undefined }
}

function readCertificate(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw invalid(`sslrootcert cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})`)
  }
}

function invalid(problem: string): AppError {
  return new AppError('invalid', 'LONGSHORE_DATABASE_URL cannot be used', {
    details: `${problem[0]?.toUpperCase()}${problem.slice(1)}. Write it as postgres://user:password@host:5432/database?sslmode=verify-full.`,
  })
}
