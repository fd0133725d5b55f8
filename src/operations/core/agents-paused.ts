import { isRead, type Operation } from '../../contract/operation.ts'
import { AppError } from '../../errors.ts'
import type { AccountTarget, Target } from './access-targets.ts'
import type { Caller } from './caller.ts'

/** The stop switch of an account, read in the transaction of the write itself, so it holds from the next request on. */
export function requireNotPaused(
  { actor }: Caller,
  operation: Operation,
  { account }: Target & Partial<AccountTarget>,
): void {
  if (actor === 'person' || isRead(operation) || !account?.settings.agentsPaused) return
  throw new AppError('forbidden', 'Agents are paused', {
    details: `Writes of callers that are not people are paused in the account ${account.accountId}; reads work. A person with Admin resumes them: longshore agents resume.`,
    rule: 'agents-paused',
  })
}
