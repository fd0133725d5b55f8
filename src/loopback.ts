/** A name or address that only programs on this machine can connect to; IPv6 with or without brackets. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

/** Whether secrets may pass over an address: https, or http to this machine. */
export function isProtected({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))
}

/** Whether a setting may name this address of another service; `serviceAddressHint` is the error. */
export function isServiceAddress(text: string): boolean {
  return /^https?:\/\/[^?#@]+$/.test(text) && URL.canParse(text) && isProtected(new URL(text))
}
export const serviceAddressHint =
  'must be an https address without user, query or fragment (http only on this machine)'
