import type { Operation } from '../contract/operation.ts'
import { AppError } from '../errors.ts'
import type { Call, OperationRunner } from '../operations/core/call.ts'
import { checkInput } from '../operations/core/check-input.ts'
import type { StoredChatUser } from '../store/repositories/chat-users.ts'
import { newTraceparent } from '../trace.ts'

export type Answer = Record<string, unknown>
type Input = Record<string, unknown>

/** The calls of one chat user: those of REST, with the rights that the member has at that moment. */
export interface Calls {
  accountId: string
  read(operation: Operation, input: Input): Promise<Answer>
  dryRun(operation: Operation, input: Input): Promise<Answer>
  /** `also` runs in the transaction of the write. Status 202: people must approve it first. */
  write(operation: Operation, input: Input, also?: Call['also']): Promise<{ status: number; answer: Answer }>
}

export function callsOf(runner: OperationRunner, user: StoredChatUser): Calls {
  const { chatUserId, connectionId, workspace, chatUser } = user
  const run = async (
    operation: Operation,
    given: Input,
    { dryRun = false, reads = false, also }: { dryRun?: boolean; reads?: boolean; also?: Call['also'] } = {},
  ) => {
    const principal = await runner.authenticate(chatUserId, { address: '', reads, credential: 'chat' })
    const reply = await runner.run({
      operation,
      input: checkInput(operation, given),
      token: chatUserId,
      credential: 'chat',
      principal,
      surface: 'chat',
      chat: { connectionId, workspace, user: chatUser },
      traceparent: newTraceparent(),
      idempotencyKey: null,
      dryRun,
      ...(also ? { also } : {}),
    })
    return { status: reply.status, answer: JSON.parse(reply.body) as Answer }
  }
  return {
    accountId: user.accountId,
    read: async (operation, input) => (await run(operation, input, { reads: true })).answer,
    dryRun: async (operation, input) => (await run(operation, input, { dryRun: true })).answer,
    write: (operation, input, also) => run(operation, input, also ? { also } : {}),
  }
}

/** A refusal in one line; anything else is a bug of ours and thrown on. */
export function refusalText(error: unknown): string {
  if (!(error instanceof AppError)) throw error
  return error.details === undefined ? `${error.message}.` : `${error.message}. ${error.details}`
}
