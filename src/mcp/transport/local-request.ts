/**
 * A sentence that shows how to call a `*.localhost` address from a program that does not resolve such names; empty for
 * other addresses.
 */
export function localRequest(url: string | undefined): string {
  if (url === undefined || !URL.canParse(url)) return ''
  const { protocol, hostname, port } = new URL(url)
  if (protocol !== 'http:' || !hostname.endsWith('.localhost')) return ''
  return ` Without DNS for *.localhost: curl -H 'Host: ${hostname}' http://127.0.0.1${port === '' ? '' : `:${port}`}/`
}
