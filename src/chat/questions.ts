import { createHash } from 'node:crypto'
import { operations } from '../contract/index.ts'
import type { Operation } from '../contract/operation.ts'
import { canonical } from '../domain/canonical.ts'
import { newId } from '../domain/ids.ts'
import { AppError } from '../errors.ts'
import type { Db } from '../store/db.ts'
import {
  type ChatQuestion,
  findChatQuestion,
  insertChatQuestion,
  takeChatQuestion,
} from '../store/repositories/chat-requests.ts'
import type { ChatPerson } from '../store/repositories/chat-users.ts'
import type { Answer, Calls } from './calls.ts'
import type { ChatReply } from './chat.ts'
import { escaped } from './text.ts'

const lifeMs = 5 * 60_000
const mostEffects = 15

interface PendingWrite {
  operation: Operation
  input: Record<string, unknown>
  envName: string
  shared: boolean
}

interface QuestionDeps {
  db: Db
  nowMs: () => number
}

/** A write is first shown: its effects, from a dry run, and a button that is bound to exactly them. */
export async function askFirst(
  { db, nowMs }: QuestionDeps,
  calls: Calls,
  person: ChatPerson,
  { operation, input, envName, shared }: PendingWrite,
  changed = false,
): Promise<ChatReply> {
  const rehearsed = await calls.dryRun(operation, input)
  const { connectionId, workspace, chatUser } = person
  const question: ChatQuestion = {
    ...{ questionId: newId('chq'), connectionId, workspace, chatUser },
    ...{ operation: operation.id, input, envName, shared, digest: digestOf(operation, input, rehearsed) },
    expiresAt: new Date(nowMs() + lifeMs).toISOString(),
  }
  await db.write((tx) => insertChatQuestion(tx, question))
  const { questionId } = question
  return {
    title: changed ? 'It would do something else now; nothing was changed. This would:' : 'This would:',
    lines: [...effectsOf(rehearsed), ...policyOf(rehearsed)],
    buttons: [
      { label: 'Confirm', action: 'confirm', value: questionId, style: 'danger' },
      { label: 'Cancel', action: 'cancel', value: questionId },
    ],
  }
}

interface Done {
  operation: Operation
  input: Record<string, unknown>
  envName: string
  shared: boolean
  status: number
  answer: Answer
}

/** Runs what the person saw, once; if it would do something else by now, it is shown again. */
export async function confirmed(
  deps: QuestionDeps,
  calls: Calls,
  person: ChatPerson,
  questionId: string,
): Promise<Done | ChatReply> {
  const now = new Date(deps.nowMs()).toISOString()
  const question = await deps.db.read((tx) => findChatQuestion(tx, questionId, person, now))
  const operation = question && operations.find(({ id }) => id === question.operation)
  if (!question || !operation) throw answered()
  const { input, envName, shared, digest } = question
  if (digestOf(operation, input, await calls.dryRun(operation, input)) !== digest) {
    if (!(await deps.db.write((tx) => takeChatQuestion(tx, questionId)))) throw answered()
    return askFirst(deps, calls, person, { operation, input, envName, shared }, true)
  }
  const done = await calls.write(operation, input, async (tx) => {
    if (!(await takeChatQuestion(tx, questionId))) throw answered()
  })
  return { operation, input, envName, shared, ...done }
}

/** Drops the question of this person. */
export async function canceled(
  { db, nowMs }: QuestionDeps,
  person: ChatPerson,
  questionId: string,
): Promise<ChatReply> {
  const now = new Date(nowMs()).toISOString()
  const taken = await db.write(
    async (tx) =>
      (await findChatQuestion(tx, questionId, person, now)) !== null && takeChatQuestion(tx, questionId),
  )
  if (!taken) throw answered()
  return { title: 'Canceled; nothing was changed.', lines: [] }
}

function answered(): AppError {
  return new AppError('conflict', 'This question is no longer open', {
    details: "It was answered, has expired, or is another person's. Send the command again.",
  })
}

/** Everything that the person sees, and the changes behind it. `serving` changes by itself. */
function digestOf(operation: Operation, input: object, { effects, changes, impact }: Answer): string {
  const { serving: _, ...shown } = (impact ?? {}) as { serving?: boolean }
  const text = canonical([operation.id, input, effects, changes, shown])
  return createHash('sha256').update(text).digest('hex')
}

function effectsOf({ effects }: Answer): string[] {
  const all = (effects ?? []) as string[]
  if (all.length === 0) return ['• Change nothing.']
  const more = all.length > mostEffects ? [`• and ${all.length - mostEffects} more`] : []
  return [...all.slice(0, mostEffects).map((effect) => `• ${escaped(effect, 400)}`), ...more]
}

function policyOf({ policy }: Answer): string[] {
  const { effect, ruleId, message, mode } = (policy ?? {}) as Record<string, string | null>
  if (mode !== 'enforce' || (effect !== 'ask' && effect !== 'deny')) return []
  const why = `rule ${escaped(ruleId ?? '', 100)}${message ? `: ${escaped(message, 300)}` : ''}`
  return [effect === 'ask' ? `The policy asks people first (${why}).` : `The policy denies it (${why}).`]
}
