/** Headers in which proxies speak about the client, in lower case, as sent; of repeated ones the last, of lists all. */
export type ForwardingHeaders = Partial<Record<ForwardingName, string>>

const lists = ['x-forwarded-for', 'forwarded'] as const
const names = [
  ...lists,
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-prefix',
  'x-forwarded-proto',
  'x-forwarded-scheme',
  'x-forwarded-server',
  'x-forwarded-ssl',
  'x-real-ip',
] as const
type ForwardingName = (typeof names)[number]

const known: ReadonlySet<string> = new Set(names)

/**
 * Keeps a header about the client; false if `name` (in lower case) is another header. A name with underscores counts,
 * because many servers read it as the one with hyphens; it is dropped.
 */
export function keepForwarding(headers: ForwardingHeaders, name: string, value: string): boolean {
  if (!known.has(name)) return name.includes('_') && known.has(name.replaceAll('_', '-'))
  const key = name as ForwardingName
  const before = headers[key]
  const isList = (lists as readonly string[]).includes(name)
  headers[key] = isList && before ? `${before}, ${value}` : value
  return true
}
