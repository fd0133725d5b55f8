/**
 * How to reach `*.localhost` addresses where such names do not resolve, for example in Node's fetch: send the request to
 * the gateway's port on the machine of the API, with the name in the `Host` header.
 */
export function hostHints(urls: readonly string[], apiUrl: string): string[] {
  return urls.flatMap((text) => {
    if (!URL.canParse(text)) return []
    const url = new URL(text)
    if (!url.protocol.startsWith('http') || !url.hostname.endsWith('.localhost')) return []
    const { hostname } = new URL(apiUrl)
    const port = url.port === '' ? '' : `:${url.port}`
    return [
      `If ${url.hostname} does not resolve: curl -H 'Host: ${url.hostname}' ${url.protocol}//${hostname}${port}/`,
    ]
  })
}
