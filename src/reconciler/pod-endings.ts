import type { PodRecord } from '../domain/environment.ts'
import type { EngineContainer } from '../engines/engine.ts'
import { containerNameOf } from './live-pod.ts'

/** A container that the engine no longer lists, or that never came to be. */
export function lost(record: PodRecord): EngineContainer {
  const { podId, appEnvId, contentId, rolloutId, startedAt, nodeName } = record
  return {
    name: containerNameOf(record),
    podId,
    appEnvId,
    contentId,
    template: rolloutId,
    state: 'exited',
    startedAt,
    finishedAt: null,
    exitCode: null,
    outOfMemory: false,
    address: null,
    nodeName,
  }
}

/** Why it ended, for a person: what happened, when, and where to look. */
export function exitMessage(container: EngineContainer, wasReady: boolean, port: number | null): string {
  const when = wasReady ? 'while it served' : port === null ? '' : `before it listened on port ${port}`
  if (container.outOfMemory) {
    return `The container ran out of memory ${when}. Raise zClouds or use less memory; get-logs shows its output.`
  }
  const how = container.exitCode === null ? 'was lost' : `exited with code ${container.exitCode}`
  return `The container ${how} ${when}`.trim().concat('. get-logs shows its output.')
}
