import type { IncomingHttpHeaders } from 'node:http'
import { isLoopback } from './loopback.ts'

export interface ServerNames {
  /** The address that the server is bound to, such as `127.0.0.1`. */
  host: string
  /** The public host name of the installation, when there is one. */
  installationName?: string | undefined
}

/** The problem with a request's `Host` or `Origin`. */
export type ForeignRequest = 'no host' | 'foreign host' | 'foreign origin'

/**
 * Stops web pages from driving a server through a visitor's browser; null: the request may pass. On loopback
 * only loopback, `host` and `installationName` are answered (DNS rebinding), and an `Origin` must be this
 * server or a page on loopback; `*.localhost` does not count, because tenants' apps answer there.
 */
export function createHostCheck(names: ServerNames): (headers: IncomingHttpHeaders) => ForeignRequest | null {
  const boundToLoopback = isLoopback(bracketed(names.host))
  const ours = new Set(
    [names.host, names.installationName ?? ''].filter((name) => name !== '').map((name) => bracketed(name)),
  )
  const isOurs = (name: string) => ours.has(name) || (boundToLoopback && isLoopback(name))
  // Clients send the same Host with each request, so accepted values are not parsed again.
  const knownHosts = new Set<string>()

  const checkHost = (host: string | undefined): ForeignRequest | null => {
    if (host !== undefined && knownHosts.has(host)) return null
    const name = hostNameOf(host ?? '')
    if (name === null) return 'no host'
    if (boundToLoopback && !isOurs(name)) return 'foreign host'
    if (knownHosts.size < 64 && host !== undefined) knownHosts.add(host)
    return null
  }
  const checkOrigin = (origin: string, host: string | undefined): ForeignRequest | null => {
    const parsed = parseOrigin(origin)
    const sameHost = parsed !== null && parsed.host === host?.toLowerCase()
    return parsed !== null && (sameHost || isOurs(parsed.hostname)) ? null : 'foreign origin'
  }
  return ({ host, origin }) => checkHost(host) ?? (origin === undefined ? null : checkOrigin(origin, host))
}

/** The name in a Host header, lower case, without port and final dot; null if it is invalid. */
export function hostNameOf(host: string): string | null {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?$/i.exec(host)
  return match === null ? null : match[1]!.toLowerCase().replace(/\.$/, '')
}

function parseOrigin(origin: string): { host: string; hostname: string } | null {
  if (!/^https?:\/\//i.test(origin) || !URL.canParse(origin)) return null
  const { host, hostname } = new URL(origin)
  return { host, hostname }
}

function bracketed(name: string): string {
  const lower = name.toLowerCase().replace(/\.$/, '')
  return lower.includes(':') && !lower.startsWith('[') ? `[${lower}]` : lower
}
