import { z } from 'zod'
import { AppError } from '../../errors.ts'

const objectId = z.string().max(64)

/** What a task waits for. It holds no state: any instance reads the state again, with the rights of its caller. */
const taskRef = z.strictObject({
  tool: z.string().max(64),
  at: z.string().max(32),
  of: z.discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('deployment'),
      appEnvId: objectId,
      contentId: objectId,
      /** Users whose pending changes the call left pending. */
      held: z.array(objectId.nullable()).max(20).optional(),
    }),
    z.strictObject({ kind: z.literal('run'), jobRunId: objectId }),
    z.strictObject({ kind: z.literal('approval'), approvalId: objectId }),
    z.strictObject({
      kind: z.literal('restore'),
      accountId: objectId,
      appEnvId: objectId,
      restoreId: objectId,
    }),
    z.strictObject({ kind: z.literal('move'), appEnvId: objectId, region: objectId }),
    /** A call that the platform answers late: sent again with its key, it gets that answer. */
    z.strictObject({ kind: z.literal('call'), args: z.record(z.string(), z.json()), key: objectId }),
  ]),
})
export type TaskRef = z.output<typeof taskRef>
export type TaskKind = TaskRef['of']['kind']
export type TaskOf<Kind extends TaskKind> = Extract<TaskRef['of'], { kind: Kind }>

const prefix = 'task_'
const longestId = 4_000

/** The id of a task. It is no secret and grants nothing: reading a task makes the calls that the caller could make. */
export function taskIdOf(ref: TaskRef): string {
  return `${prefix}${Buffer.from(JSON.stringify(ref)).toString('base64url')}`
}

/** Whether `taskRefOf` takes its id. */
export function fitsTaskId(ref: TaskRef): boolean {
  return taskIdOf(ref).length <= longestId
}

/** Throws `invalid` for an id that `taskIdOf` did not make. */
export function taskRefOf(taskId: unknown): TaskRef {
  const text = typeof taskId === 'string' && taskId.length <= longestId ? taskId : ''
  try {
    if (!text.startsWith(prefix)) throw new Error('prefix')
    return taskRef.parse(JSON.parse(Buffer.from(text.slice(prefix.length), 'base64url').toString()))
  } catch {
    throw new AppError('invalid', 'Task not found', {
      details: 'Send the taskId of a result of this server.',
    })
  }
}
