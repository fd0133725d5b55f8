import { proposePlan } from '../../contract/approvals.ts'
import { operations } from '../../contract/index.ts'
import { AppError } from '../../errors.ts'
import { requestApproval } from '../core/approval-request.ts'
import type { StepCall } from '../core/call.ts'
import { checkInput } from '../core/check-input.ts'
import { handler } from '../core/handler.ts'
import { hashOf } from '../core/idempotency.ts'
import { approvalResponse, impactOfRequest } from './responses.ts'

const byId = new Map(operations.map((row) => [row.id, row]))

export default handler(proposePlan, async (context, input, { account }) => {
  const calls = input.steps.map(callOf)
  const { accountId } = account
  const approval = await requestApproval(context, {
    accountId,
    title: input.title,
    reason: input.reason ?? null,
    calls,
    requestHash: hashOf({ operation: proposePlan, input }),
  })
  return {
    answer: await approvalResponse(context, approval),
    change: {
      objectType: 'approval',
      objectId: approval.approvalId,
      accountId,
      before: null,
      after: { title: approval.title, reviewDigest: approval.reviewDigest },
    },
    impact: await impactOfRequest(context.tx, approval),
    effects: [`Asks a person to approve ${calls.length === 1 ? 'one step' : `${calls.length} steps`}.`],
  }
})

function callOf(step: { operation: string; input: Record<string, unknown> }, index: number): StepCall {
  const operation = byId.get(step.operation)
  if (!operation) {
    throw new AppError('invalid', 'Invalid request', {
      details: `steps[${index}].operation: must be the id of an operation, which is the name of its tool`,
    })
  }
  try {
    return { operation, input: checkInput(operation, step.input) }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw new AppError(error.kind, error.message, { details: `steps[${index}].input: ${error.details}` })
  }
}
