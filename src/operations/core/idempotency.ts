import { createHash } from 'node:crypto'
import { canonical } from '../../domain/canonical.ts'
import { AppError } from '../../errors.ts'
import type { KeptResponse } from '../../store/repositories/idempotency.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import type { Call, Reply, StepCall } from './call.ts'
import type { Caller } from './caller.ts'

/**
 * The stored form of an answer: empty if it shows a token (a null token shows none), encrypted if it grants access.
 */
export function keptBody(secrets: SecretBox, caller: Caller, call: Call, body: string): string {
  const { answersSecret, answersCapability } = call.operation
  if (answersSecret && JSON.parse(body).token !== null) return ''
  return answersCapability ? secrets.seal(body, keptName(caller, call.idempotencyKey)) : body
}

/** Throws `conflict` when the key came with another request before. */
export function requireSameRequest({ requestHash }: KeptResponse, call: Call): void {
  if (requestHash === hashOf(call)) return
  throw new AppError('conflict', 'Idempotency key reused', {
    details:
      'This Idempotency-Key came with another operation or body before. Use a new key for a new request.',
  })
}

/** The kept answer. Throws `conflict` when it is gone. */
export function replay(secrets: SecretBox, caller: Caller, key: string, kept: KeptResponse): Reply {
  const body = openedBody(secrets, caller, key, kept.body)
  if (body === '') {
    throw new AppError('conflict', 'Already done', {
      details:
        'The answer showed a secret and was not kept. Ask for a new one: rotate a token, or use another Idempotency-Key.',
    })
  }
  return { status: kept.status, body }
}

/** The body as it was answered; empty when its data key is gone since. */
function openedBody(secrets: SecretBox, caller: Caller, key: string | null, body: string): string {
  // Every answer is a JSON object: a body that does not begin as one is sealed.
  if (body === '' || body.startsWith('{')) return body
  try {
    return secrets.open(body, keptName(caller, key))
  } catch {
    return ''
  }
}

function keptName(caller: Caller, key: string | null): string {
  return `answer/${keyHolder(caller)}/${key}`
}

/**
 * The owner of the idempotency keys of a call. A token of an agent, or with limits, has its own: the answers to its
 * person's calls may be beyond its limits.
 */
export function keyHolder({ principal, token }: Caller): string {
  const isWhole = token.access.kind === 'person' && token.scopes === null && token.scope === null
  return isWhole ? principal : `${principal}/${token.tokenId}`
}

/** Two requests with one key must be the same request. */
export function hashOf({ operation, input }: StepCall): string {
  return createHash('sha256').update(operation.id).update('\n').update(canonical(input)).digest('hex')
}
