import type { IncomingMessage } from 'node:http'
import { plainAddress } from './trusted-proxies.ts'

const known = new WeakMap<IncomingMessage, string>()

/** Notes the address of the client of a raw request, for handlers that get only the request. */
export function rememberClient(request: IncomingMessage, address: string): void {
  known.set(request, address)
}

/** The address of the client by the word of trusted proxies; without one that of the peer. */
export function clientAddressOf(request: IncomingMessage): string {
  return known.get(request) ?? plainAddress(request.socket.remoteAddress)
}
