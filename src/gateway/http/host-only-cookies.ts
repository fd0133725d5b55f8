const cookieLine = /^set-cookie[ \t]*:/i
const domainAttribute = /;[ \t]*domain[ \t]*(?:=[ \t]*"?([^;"]*?)"?[ \t]*)?(?=;|$)/gi

/** Whether a Set-Cookie value names a domain. */
export function namesDomain(value: string): boolean {
  return /;[ \t]*domain[ \t]*(?:=|;|$)/i.test(value)
}

/**
 * The header lines with cookies for `host` only. Environments of different accounts share the domain above, so a cookie
 * for it would reach the others: as for a public suffix, no host below it may name it.
 */
export function hostOnlyCookies(headers: string, host: string): string {
  return headers
    .split('\r\n')
    .map((line) => {
      if (!cookieLine.test(line)) return line
      return line.replace(domainAttribute, (attribute, domain?: string) =>
        domain?.toLowerCase().replace(/^\./, '') === host ? attribute : '',
      )
    })
    .join('\r\n')
}
