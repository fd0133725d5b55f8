import { isIP } from 'node:net'
import { plainAddress, type TrustedProxies } from '../../trusted-proxies.ts'
import type { ForwardingHeaders } from './forwarding-headers.ts'
import type { RequestHead } from './request-head.ts'

/** The other end of a connection. */
export interface Peer {
  address: string
  /** The protocol that the client speaks to this gateway. */
  proto: 'http' | 'https'
}

interface Forwarding {
  /** The header lines for the container, each ending in CRLF. */
  lines: string
  clientAddress: string
  /** The client uses TLS, here or at a trusted proxy. */
  isSecure: boolean
}

/**
 * What the container gets to know about the client: what a trusted proxy says, and the rest from the connection. For,
 * Host and Proto are always there; the others only in place of those that were sent.
 */
export function forwardingOf(head: RequestHead, peer: Peer, trusted: TrustedProxies): Forwarding {
  const { block } = head
  // The lines of a block come from one connection, so its peer is always the same.
  if (block.forwarded && head.host === block.host) return block.forwarded
  const given = block.forwarding
  const sent = trusted.has(peer.address) ? given : {}
  const before = addressesOf(sent)
  const chain = [...before, peer.address]
  const clientAddress = trusted.clientOf(chain)
  const proto = matching(sent['x-forwarded-proto'], /^(?:http|ws)s?$/i) ?? peer.proto
  const host = matching(sent['x-forwarded-host'], /^[A-Za-z0-9._:[\]-]{1,260}$/) ?? head.host
  let lines = `x-forwarded-for: ${chain.join(', ')}\r\nx-forwarded-host: ${host}\r\nx-forwarded-proto: ${proto}\r\n`
  if (given['x-forwarded-port'] !== undefined) {
    lines += `x-forwarded-port: ${matching(sent['x-forwarded-port'], /^\d{1,5}$/) ?? portOf(host, proto)}\r\n`
  }
  if (given['x-real-ip'] !== undefined) lines += `x-real-ip: ${clientAddress}\r\n`
  if (given.forwarded !== undefined) {
    const elements = sent.forwarded === undefined ? '' : `${sent.forwarded}, `
    lines += `forwarded: ${elements}for=${nodeName(peer.address)};host="${host}";proto=${proto}\r\n`
  }
  const prefix = matching(sent['x-forwarded-prefix'], /^\/[!-+\--~]{0,1000}$/)
  if (prefix !== null) lines += `x-forwarded-prefix: ${prefix}\r\n`
  block.forwarded = { lines, clientAddress, isSecure: /s$/i.test(proto) }
  return block.forwarded
}

/** The addresses before the peer, the client first. */
function addressesOf({ 'x-forwarded-for': list, forwarded }: ForwardingHeaders): string[] {
  if (list !== undefined) return splitList(list).map(withoutPort)
  return [...(forwarded ?? '').matchAll(/(?:^|[;,])\s*for="?([^";,\s]+)"?/gi)].map(([, one]) =>
    withoutPort(one!),
  )
}

function splitList(value: string): string[] {
  return value
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
}

function withoutPort(node: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(node)?.[1]
  const plain = bracketed ?? (/^[\d.]+:\d+$/.test(node) ? node.slice(0, node.indexOf(':')) : node)
  return plainAddress(plain)
}

/** The last value of a list, which the nearest proxy wrote; null if it is not of the form. */
function matching(value: string | undefined, form: RegExp): string | null {
  const last = value === undefined ? undefined : splitList(value).at(-1)
  return last !== undefined && form.test(last) ? last : null
}

function portOf(host: string, proto: string): string {
  return /:(\d{1,5})$/.exec(host)?.[1] ?? (/s$/i.test(proto) ? '443' : '80')
}

/** A node of `Forwarded` (RFC 7239). */
function nodeName(address: string): string {
  const family = isIP(address)
  if (family === 6) return `"[${address}]"`
  return family === 4 ? address : 'unknown'
}
