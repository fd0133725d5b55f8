import type { PodRecord } from '../../domain/environments/environment.ts'
import type { EngineContainer, FailureReason } from '../../engines/engine.ts'
import { containerNameOf } from '../rollouts/container-spec.ts'

/** The state for a container that the engine does not list any more, or that was never created. */
export function lost(record: PodRecord): EngineContainer {
  const { podId, appEnvId, startedAt, nodeName } = record
  return {
    name: containerNameOf(record),
    podId,
    appEnvId,
    state: 'exited',
    startedAt,
    finishedAt: null,
    exitCode: null,
    outOfMemory: false,
    address: null,
    nodeName,
  }
}

export function exitReason({ outOfMemory }: EngineContainer, wasReady: boolean): FailureReason {
  if (outOfMemory) return 'out-of-memory'
  return wasReady ? 'exited' : 'exits-at-once'
}

/** The reason of the end, for users: event, time, and place to look. */
export function exitMessage(container: EngineContainer, wasReady: boolean, port: number | null): string {
  const when = wasReady ? 'while it served' : port === null ? '' : `before it listened on port ${port}`
  if (container.outOfMemory) {
    return `The container ran out of memory ${when}. Raise zClouds or use less memory; get-logs shows its output.`
  }
  const how = container.exitCode === null ? 'was lost' : `exited with code ${container.exitCode}`
  return `The container ${how} ${when}`.trim().concat('. get-logs shows its output.')
}

/** The messages of Node and Python for a missing module. Names with other characters are not repeated. */
const missing = /Cannot find (?:module|package) '([\w@./-]{1,100})'|No module named '?([\w.]{1,100})/

/** The verdict of a container that exits at once, with the missing module that its last lines name. */
export function withMissingModule<Failure extends { reason: string; message: string }>(
  failure: Failure,
  lastLines: readonly string[],
): Failure {
  const found = lastLines.map((line) => missing.exec(line)).find((match) => match !== null)
  const name = found?.[1] ?? found?.[2]
  if (name === undefined) return failure
  const advice = `The program cannot find the module ${name}: let the build install it, or correct the path.`
  return { ...failure, reason: 'missing-module', message: `${advice} ${failure.message}` }
}
