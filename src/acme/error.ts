const namespace = 'urn:ietf:params:acme:error:'
const longestDetail = 500

/** A problem that the certificate authority reports (RFC 8555, 6.7), or in reaching it. */
export class AcmeError extends Error {
  /** Without the namespace, such as `rateLimited`; `connection` if there was no answer. */
  readonly type: string
  readonly retryAfterMs: number | null

  constructor(type: string, detail: string, retryAfterMs: number | null = null) {
    super(plain(detail))
    this.name = 'AcmeError'
    this.type = plain(type.replace(namespace, ''))
    this.retryAfterMs = retryAfterMs
  }
}

interface Problem {
  type?: unknown
  detail?: unknown
  subproblems?: unknown
}

/** The error of a problem document; the first of its subproblems says more than the whole. */
export function problemOf(body: unknown, status: number, retryAfterMs: number | null = null): AcmeError {
  const { type, detail, subproblems } = (body ?? {}) as Problem
  const [first] = (Array.isArray(subproblems) ? subproblems : []) as Problem[]
  const text = [detail, first?.detail].filter((one) => typeof one === 'string').join(' ')
  return new AcmeError(
    typeof type === 'string' ? type : `status ${status}`,
    text === '' ? `The certificate authority answered ${status}.` : text,
    retryAfterMs,
  )
}

/** Text of another system, for people. */
function plain(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, longestDetail)
}
