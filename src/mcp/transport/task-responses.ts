import { AppError } from '../../errors.ts'
import type { ToolResult } from '../tools/result.ts'
import { type TaskKind, type TaskRef, taskIdOf, taskRefOf } from '../tools/task-ref.ts'
import { toolResponse } from './responses.ts'

export const tasksExtension = 'io.modelcontextprotocol/tasks'

/** A person decides slower than a deployment ends. */
const pollIntervalMs = {
  deployment: 2_000,
  run: 2_000,
  restore: 2_000,
  move: 2_000,
  call: 2_000,
  approval: 5_000,
} as const satisfies Record<TaskKind, number>

export function takesTasks(capabilities: unknown): boolean {
  const { extensions } = (capabilities ?? {}) as { extensions?: Record<string, unknown> }
  return extensions?.[tasksExtension] !== undefined
}

/** The task of a call that goes on; the state is that of the platform, so a task outlives this process. */
export function taskResponse({ ref, message }: NonNullable<ToolResult['task']>): Record<string, unknown> {
  return { resultType: 'task', ...taskFields(ref), status: 'working', statusMessage: message }
}

/** Reads or cancels the task of a tool. */
type RunTask = (tool: string, task: { ref: TaskRef; cancel: boolean }) => Promise<ToolResult>
type TaskResponder = (
  taskId: unknown,
  requester: { run: RunTask; opensUrls: boolean },
) => Promise<Record<string, unknown>>

/** The methods of clients that declare the extension. They throw `AppError`, which the adapter turns into its error. */
export const taskResponders: Readonly<Record<string, TaskResponder>> = {
  'tasks/get': async (taskId, { run, opensUrls }) => {
    const ref = taskRefOf(taskId)
    return stateOf(ref, await run(ref.tool, { ref, cancel: false }), opensUrls)
  },
  // The one request of a task is to open the page of an approval: the decision is made there, never by this answer.
  'tasks/update': async (taskId, { run }) => {
    const ref = taskRefOf(taskId)
    await run(ref.tool, { ref, cancel: false })
    return {}
  },
  'tasks/cancel': async (taskId, { run }) => {
    const ref = taskRefOf(taskId)
    const { isError, text } = await run(ref.tool, { ref, cancel: true })
    if (isError) throw new AppError('invalid', text)
    return {}
  },
}

function taskFields(ref: TaskRef) {
  return {
    taskId: taskIdOf(ref),
    createdAt: ref.at,
    lastUpdatedAt: new Date().toISOString(),
    ttlMs: null,
    pollIntervalMs: pollIntervalMs[ref.of.kind],
  }
}

function stateOf(ref: TaskRef, result: ToolResult, opensUrls: boolean): Record<string, unknown> {
  const fields = taskFields(ref)
  const { task } = result
  if (task?.url !== undefined && opensUrls && ref.of.kind === 'approval') {
    const { url, message } = task
    const params = { mode: 'url', message, url, elicitationId: ref.of.approvalId }
    const inputRequests = { approval: { method: 'elicitation/create', params } }
    return { ...fields, status: 'input_required', statusMessage: message, inputRequests }
  }
  if (task) return { ...fields, status: 'working', statusMessage: task.message }
  if (result.canceled) return { ...fields, status: 'cancelled', statusMessage: result.text.split('\n', 1)[0] }
  return { ...fields, status: 'completed', result: { resultType: 'complete', ...toolResponse(result, true) } }
}
