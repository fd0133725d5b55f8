import { storyOf } from '../../../contract/remediation-story.ts'
import type { StoredRun } from '../../../domain/remediation/remediation.ts'
import { wantRunMessages } from '../../../store/repositories/chat-messages.ts'
import type { Context } from '../../core/handler.ts'
import { runResponse } from '../responses.ts'
import type { RunTarget } from './run-target.ts'

/** The thread of the alert shows each step of the run, in the transaction of that step. */
export async function tellChats(
  { tx, now }: Context,
  before: StoredRun,
  after: StoredRun,
  { remediation }: RunTarget,
): Promise<void> {
  const { status, approvalId, steps } = after
  if (status === before.status && approvalId === before.approvalId) return
  // A cause has no thread, so the channel hears only of steps and approvals.
  if (after.trigger.alertId === undefined && steps.length === 0 && approvalId === undefined) return
  const story = storyOf(runResponse(after))
  await wantRunMessages(tx, after, { kind: 'run', name: remediation.name, status, story }, Date.parse(now))
}
