import {
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { AppError } from '../../errors.ts'
import type { ToolResult } from '../tools/result.ts'
import { taskIdOf, taskRefOf } from '../tools/task-ref.ts'
import type { IncomingCall, McpServerOptions } from './responses.ts'
import { protocolErrorText, toolResponse } from './responses.ts'

export const tasksExtension = 'io.modelcontextprotocol/tasks'

/** A person decides slower than a deployment ends. */
const pollIntervalMs = { deployment: 2_000, run: 2_000, approval: 5_000 } as const

export function takesTasks(capabilities: unknown): boolean {
  const { extensions } = (capabilities ?? {}) as { extensions?: Record<string, unknown> }
  return extensions?.[tasksExtension] !== undefined
}

/** The task of a call that goes on; the state is that of the platform, so a task outlives this process. */
export function taskResponse(task: NonNullable<ToolResult['task']>): Record<string, unknown> {
  return { resultType: 'task', ...taskFields(task.ref), status: 'working', statusMessage: task.message }
}

function taskFields(ref: NonNullable<ToolResult['task']>['ref']) {
  return {
    taskId: taskIdOf(ref),
    createdAt: ref.at,
    lastUpdatedAt: new Date().toISOString(),
    ttlMs: null,
    pollIntervalMs: pollIntervalMs[ref.of.kind],
  }
}

/** Serves tasks/get, tasks/update and tasks/cancel, for clients that declare the extension. */
export function serveTasks(
  server: Server,
  options: McpServerOptions,
  callOf: (ctx: ServerContext) => Omit<IncomingCall, 'name' | 'args'> & { capabilities: unknown },
): void {
  const params = z.looseObject({ taskId: z.string() })
  const run = async (taskId: string, cancel: boolean, ctx: ServerContext) => {
    const { capabilities, ...call } = callOf(ctx)
    if (!takesTasks(capabilities)) throw missingCapability()
    const ref = refOf(taskId)
    return {
      ref,
      result: await options.callTool({ ...call, name: ref.tool, args: {}, task: { ref, cancel } }),
    }
  }
  server.setRequestHandler('tasks/get', { params }, async ({ taskId }, ctx) => {
    const { ref, result } = await run(taskId, false, ctx)
    return stateOf(ref, result)
  })
  // No task asks the client: a person decides in the console, and questions come before the call.
  server.setRequestHandler('tasks/update', { params }, async ({ taskId }, ctx) => {
    await run(taskId, false, ctx)
    return {}
  })
  server.setRequestHandler('tasks/cancel', { params }, async ({ taskId }, ctx) => {
    const { result } = await run(taskId, true, ctx)
    if (result.isError) throw new ProtocolError(ProtocolErrorCode.InvalidParams, result.text)
    return {}
  })
}

function stateOf(ref: NonNullable<ToolResult['task']>['ref'], result: ToolResult): Record<string, unknown> {
  const fields = taskFields(ref)
  if (result.task) return { ...fields, status: 'working', statusMessage: result.task.message }
  if (result.canceled) return { ...fields, status: 'cancelled', statusMessage: result.text.split('\n', 1)[0] }
  return { ...fields, status: 'completed', result: { resultType: 'complete', ...toolResponse(result, true) } }
}

function refOf(taskId: string) {
  try {
    return taskRefOf(taskId)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, protocolErrorText(error))
  }
}

function missingCapability(): ProtocolError {
  const data = { requiredCapabilities: { extensions: { [tasksExtension]: {} } } }
  const code = ProtocolErrorCode.MissingRequiredClientCapability
  return new ProtocolError(code, 'Missing required client capability', data)
}
