import type { BuildSource, ContentToBuild } from '../builds/content.ts'
import type { BuiltImage, Engine, EngineLogLine } from '../engines/engine.ts'
import type { Route } from '../gateway/control/protocol.ts'

/** The reconciler's port to the gateway: sets which containers may take requests. */
export interface RouteSink {
  setRoutes(routes: Route[]): void
  setRoute(route: Route): void
  dropRoute(appEnvId: string): void
  startFailed(appEnvId: string, message: string): void
}

interface BuildRequest {
  engine: Engine
  source: BuildSource
  content: ContentToBuild
  onLog: (line: EngineLogLine) => void
  signal: AbortSignal
}

/** Fetches a source and builds it with the engine. Failures of the tenant's code are `EngineFailure`s. */
export type Builder = (request: BuildRequest) => Promise<BuiltImage & { gitCommitId: string | null }>

/** Runs the attempts of jobs, one container each; a repeated call is harmless. */
export type JobEngine = Pick<Engine, 'apply' | 'stop' | 'remove' | 'logs'>

/** Uploaded archives. */
export interface UploadFiles {
  fetch(uploadId: string, dir: string): Promise<string | null>
}

/** Stored measurements of environments. */
export interface MetricData {
  forget(appEnvId: string): Promise<void>
}
