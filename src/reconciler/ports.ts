import type { DockerPreset } from '../contract/fields.ts'
import type { BuiltImage, Engine, EngineLogLine } from '../engines/engine.ts'
import type { Route } from '../gateway/gateway-link.ts'

/** The reconciler's side of the gateway: it says which containers may take requests. */
export interface RouteSink {
  setRoutes(routes: Route[]): void
  setRoute(route: Route): void
  dropRoute(appEnvId: string): void
  startFailed(appEnvId: string, message: string): void
}

export type BuildSource =
  | { kind: 'upload'; file: string; extension: '.tgz' | '.tar.gz' | '.zip' }
  | { kind: 'git'; namespace: string; repo: string; branch: string; commitId: string | null }

export interface BuildRequest {
  engine: Engine
  source: BuildSource
  content: {
    appEnvId: string
    contentId: string
    contextDir: string | null
    dockerfilePath: string | null
    dockerfileContent: string | null
    preset: DockerPreset
    buildArgs: Record<string, string>
    secretBuildArgs: readonly string[]
    runsCommands?: boolean
  }
  onLog: (line: EngineLogLine) => void
  signal: AbortSignal
}

/** Brings a source and has the engine build it. Failures of the tenant's code are `EngineFailure`s. */
export type Builder = (request: BuildRequest) => Promise<BuiltImage & { gitCommitId: string | null }>

/** Uploaded archives. */
export interface UploadFiles {
  path(uploadId: string): string
  remove(uploadId: string): Promise<void>
}

/** Measured values kept of environments. */
export interface MeasuredData {
  forget(appEnvId: string): Promise<void>
}
