import type { IncomingHttpHeaders } from 'node:http'
import { AppError } from '../errors.ts'

/** Where the server is bound and what else it is called. */
export interface ServerNames {
  /** The address that the server is bound to, such as `127.0.0.1`. */
  host: string
  /** The public host name of the installation, when there is one. */
  installationName?: string | undefined
}

/**
 * Makes the check that stops web pages from driving the server through a visitor's browser. Bound to loopback,
 * only loopback names, the configured host and the installation's name are answered: a page that points its own
 * name at 127.0.0.1 (DNS rebinding) gets 403. An `Origin` must be this server itself or, when bound to loopback,
 * a page on loopback. `*.localhost` is not loopback here, because tenants' apps answer under such names.
 */
export function hostCheck(names: ServerNames): (headers: IncomingHttpHeaders) => void {
  const boundToLoopback = isLoopback(bracketed(names.host))
  const ours = new Set(
    [names.host, names.installationName ?? ''].filter((name) => name !== '').map((name) => bracketed(name)),
  )
  const isOurs = (name: string) => ours.has(name) || (boundToLoopback && isLoopback(name))
  // Clients send the same Host with each request: what was once found good is not taken apart again.
  const knownHosts = new Set<string>()

  const checkHost = (host: string | undefined) => {
    if (host !== undefined && knownHosts.has(host)) return
    const name = hostNameOf(host ?? '')
    if (name === null) throw new AppError('invalid', 'Invalid request', { details: hostMissing })
    if (boundToLoopback && !isOurs(name))
      throw new AppError('forbidden', 'Host not allowed', { details: hostForeign })
    if (knownHosts.size < 64 && host !== undefined) knownHosts.add(host)
  }
  const checkOrigin = (origin: string, host: string | undefined) => {
    const parsed = parseOrigin(origin)
    const sameHost = parsed !== null && parsed.host === host?.toLowerCase()
    if (parsed === null || !(sameHost || isOurs(parsed.hostname))) {
      throw new AppError('forbidden', 'Origin not allowed', { details: originForeign })
    }
  }
  return (headers) => {
    checkHost(headers.host)
    if (headers.origin !== undefined) checkOrigin(headers.origin, headers.host)
  }
}

const hostMissing = 'The header Host must name this server.'
const hostForeign =
  'This server answers to localhost, 127.0.0.1 and its configured name only. Use one of these in the address.'
const originForeign = 'Web pages of other sites may not call this server. Call it from a program instead.'

/** The name in a Host header, lower case, without port and final dot; null when it is not one. */
function hostNameOf(host: string): string | null {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?$/i.exec(host)
  return match === null ? null : match[1]!.toLowerCase().replace(/\.$/, '')
}

function parseOrigin(origin: string): { host: string; hostname: string } | null {
  if (!/^https?:\/\//i.test(origin) || !URL.canParse(origin)) return null
  const { host, hostname } = new URL(origin)
  return { host, hostname }
}

function isLoopback(name: string): boolean {
  return name === 'localhost' || name === '[::1]' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name)
}

function bracketed(name: string): string {
  const lower = name.toLowerCase().replace(/\.$/, '')
  return lower.includes(':') && !lower.startsWith('[') ? `[${lower}]` : lower
}
