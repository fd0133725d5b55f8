import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import type { DatabaseVersion } from '../../../contract/databases.ts'
import type { DatabasePresetName } from '../../../contract/fields.ts'
import { findProgram, hostPath } from '../host-runtimes.ts'

const run = promisify(execFile)

/** A program of this machine that can run a preset. */
export interface DatabaseProgram {
  /** The display name, such as `PostgreSQL 15`. */
  title: string
  /** The major version for PostgreSQL, otherwise major and minor: `7.0`. */
  version: string
  /** Path of the server; the other programs are in the same folder. */
  server: string
}

/** Debian and others install several versions next to each other, outside PATH. */
const postgresHomes = ['/usr/lib/postgresql', '/usr/local/pgsql', '/opt/postgresql']
const serverPath = () => `${hostPath()}:/usr/sbin:/usr/local/sbin`

/** Every usable PostgreSQL on this machine by major version, newest first. */
async function findPostgres(): Promise<DatabaseProgram[]> {
  const dirs = postgresHomes.flatMap((home) => [
    ...subfolders(home).map((name) => `${home}/${name}/bin`),
    `${home}/bin`,
  ])
  const found = new Map<string, DatabaseProgram>()
  for (const server of [...dirs, ...serverPath().split(':')].map((dir) => findProgram('postgres', dir))) {
    if (server === null || findProgram('initdb', server.replace(/\/postgres$/, '')) === null) continue
    const version = /\(PostgreSQL\) (\d+)/.exec(await versionText(server))?.[1]
    if (version && !found.has(version)) {
      found.set(version, { title: `PostgreSQL ${version}`, server, version })
    }
  }
  return [...found.values()].sort((a, b) => Number(b.version) - Number(a.version))
}

/** Every program that runs the preset, best first; empty if there is none. */
export async function findDatabasePrograms(preset: DatabasePresetName): Promise<DatabaseProgram[]> {
  switch (preset) {
    case 'POSTGRESQL':
      return await findPostgres()
    case 'REDIS':
      return await program('redis-server', 'Redis', /v=(\d+\.\d+)/)
    case 'MYSQL':
      if (findProgram('mariadb-install-db', serverPath()) === null) return []
      return await program('mariadbd', 'MariaDB', /Ver (\d+\.\d+)/)
    case 'RABBITMQ':
      return findRabbit()
    default:
      return []
  }
}

/** The preset versions that a program provides: the plain one, and one with vector search if that is installed. */
export function hostVersions(
  preset: DatabasePresetName,
  { title, version, server }: DatabaseProgram,
): [string, DatabaseVersion][] {
  const row = (key: string, label: string, variant?: string): [string, DatabaseVersion] => {
    const image = `process-database/${preset.toLowerCase()}:${key}`
    return [key, { key, label, image, ...(variant && { variant }), available: true }]
  }
  if (preset === 'MYSQL') return [row(`mariadb-${version}`, title, 'mariadb')]
  const plain = row(version, title)
  if (preset !== 'POSTGRESQL' || !hasVectorSearch(version, server)) return [plain]
  return [plain, row(`${version}-pgvector`, `${title} with vector search`, 'pgvector')]
}

function hasVectorSearch(major: string, server: string): boolean {
  const prefix = path.dirname(path.dirname(server))
  const shares = [`/usr/share/postgresql/${major}`, `${prefix}/share`, `${prefix}/share/postgresql`]
  return shares.some((share) => existsSync(`${share}/extension/vector.control`))
}

/**
 * `rabbitmq-server --version` would start a server, so the version comes from the folder name. PATH holds only a
 * wrapper for root.
 */
function findRabbit(): DatabaseProgram[] {
  if (['erl', 'epmd'].some((name) => findProgram(name, serverPath()) === null)) return []
  const homes = ['/usr/lib/rabbitmq/lib', '/opt/rabbitmq', '/usr/local/lib/rabbitmq']
  const dirs = homes.flatMap((home) => [...subfolders(home).map((name) => `${home}/${name}`), home]).reverse()
  for (const dir of dirs) {
    const server = findProgram('rabbitmq-server', `${dir}/sbin`)
    const version = /rabbitmq_server-(\d+\.\d+)/.exec(dir)?.[1] ?? 'unknown'
    if (server !== null) return [{ title: `RabbitMQ ${version}`, version, server }]
  }
  return []
}

/** The name of the missing program, for error messages. */
export function missingProgram(preset: DatabasePresetName): string {
  const programs: Partial<Record<DatabasePresetName, string>> = {
    POSTGRESQL: 'PostgreSQL (postgres and initdb)',
    REDIS: 'Redis (redis-server)',
    MYSQL: 'MariaDB (mariadbd and mariadb-install-db)',
    RABBITMQ: 'RabbitMQ (rabbitmq-server with Erlang)',
  }
  const wanted = programs[preset]
  return wanted === undefined
    ? 'The process engine does not run this database. Start Longshore with LONGSHORE_ENGINE=docker.'
    : `This machine has no ${wanted}. Install it, or start Longshore with LONGSHORE_ENGINE=docker.`
}

/**
 * PostgreSQL refuses to run as root and MariaDB warns about it. As root, they get a user namespace in which they are
 * an ordinary user without capabilities, while their files stay owned by root. In a private root every user is root. Null
 * if the kernel forbids that.
 */
export async function unprivilegedPrefix(isRooted = false): Promise<string[] | null> {
  if (process.getuid?.() !== 0 && !isRooted) return []
  const unshare = findProgram('unshare', serverPath())
  if (unshare === null) return null
  const prefix = [unshare, '--user', '--map-user=1000', '--map-group=1000', '--']
  try {
    await run(prefix[0] as string, [...prefix.slice(1), '/bin/true'], { timeout: 10_000 })
    return prefix
  } catch {
    return null
  }
}

async function program(name: string, title: string, pattern: RegExp): Promise<DatabaseProgram[]> {
  const server = findProgram(name, serverPath())
  if (server === null) return []
  const version = pattern.exec(await versionText(server))?.[1] ?? 'unknown'
  return [{ title: `${title} ${version}`, version, server }]
}

async function versionText(server: string): Promise<string> {
  try {
    return (await run(server, ['--version'], { timeout: 10_000 })).stdout
  } catch {
    return ''
  }
}

function subfolders(dir: string): string[] {
  try {
    return readdirSync(dir).sort()
  } catch {
    return []
  }
}
