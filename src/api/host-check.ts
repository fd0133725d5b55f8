import type { IncomingHttpHeaders } from 'node:http'
import { AppError } from '../errors.ts'
import { createHostCheck, type ForeignRequest, type ServerNames } from '../host-check.ts'

/** Throws for a request whose `Host` or `Origin` is not this server's. */
export function hostCheck(names: ServerNames): (headers: IncomingHttpHeaders) => void {
  const check = createHostCheck(names)
  return (headers) => {
    const problem = check(headers)
    if (problem !== null) throw refusals[problem]()
  }
}

const refusals: Record<ForeignRequest, () => AppError> = {
  'no host': () =>
    new AppError('invalid', 'Invalid request', { details: 'The header Host must name this server.' }),
  'foreign host': () =>
    new AppError('forbidden', 'Host not allowed', {
      details:
        'This server accepts only localhost, 127.0.0.1 and its configured name. Use one of these in the address.',
    }),
  'foreign origin': () =>
    new AppError('forbidden', 'Origin not allowed', {
      details: 'Web pages of other sites may not call this server. Call it from a program instead.',
    }),
}
