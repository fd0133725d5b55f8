import { isRead } from '../../contract/operation.ts'
import { scopesOfCall } from '../../contract/scopes.ts'
import { isInGroup } from '../../contract/tool-groups.ts'
import { AppError } from '../../errors.ts'
import type { AccessRequest } from './access-targets.ts'

/**
 * The limits of the token, in addition to those of its owner. With `mayPropose` it may dry-run what they exclude, but never
 * what is for people only.
 */
export function refusalOfToken({
  caller: { token, actor },
  operation,
  input,
  dryRun = false,
}: Pick<AccessRequest, 'caller' | 'operation' | 'input' | 'dryRun'>): AppError | null {
  const writes = !isRead(operation)
  if (writes && operation.peopleOnly && (actor === 'agent' || token.scopes !== null)) {
    return new AppError(
      'forbidden',
      token.scopes === null ? 'Only people may do this' : 'insufficient_scope',
      {
        details: 'Only people may do this, never an agent.',
        rule: token.scopes === null ? 'people-only' : 'insufficient-scope',
      },
    )
  }
  if (writes && (dryRun || operation.proposes) && token.access.mayPropose) return null
  return refusalOfLimits(token, operation, input)
}

function refusalOfLimits(
  { readOnly, scopes, access: { groups, remediation } }: AccessRequest['caller']['token'],
  operation: AccessRequest['operation'],
  input: AccessRequest['input'],
): AppError | null {
  if (remediation?.operations && !remediation.operations.includes(operation.id)) {
    return new AppError('forbidden', 'The remediation does not allow this operation', {
      details: `It allows ${remediation.operations.join(', ')}. Report what else is needed to a person.`,
      rule: 'remediation-operations',
    })
  }
  if (readOnly && !isRead(operation)) {
    return readOnlyToken('It can call reads (GET) only. Use a token that was made without --read-only.')
  }
  if (groups !== null && !isRead(operation) && !groups.some((group) => isInGroup(operation.id, group))) {
    return new AppError('forbidden', 'This token is limited to other tools', {
      details: `It may write with the tools of ${groups.join(', ')} only. Use a token without this limit.`,
      rule: 'tool-groups',
    })
  }
  const needed = scopes && scopesOfCall(operation, input)
  if (needed === null || needed.every((scope) => scopes!.includes(scope))) return null
  return new AppError('forbidden', 'insufficient_scope', {
    details: `This call needs the scope ${needed.join(' ')}, which the person did not allow. They can connect the agent again with it.`,
    rule: 'insufficient-scope',
  })
}

export function readOnlyToken(details: string): AppError {
  return new AppError('forbidden', 'This token is read-only', { details, rule: 'read-only-token' })
}
