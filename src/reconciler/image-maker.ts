import { type Clock, timestamp } from '../clock.ts'
import type { App } from '../contract/apps.ts'
import type { DatabasePresetName } from '../contract/databases.ts'
import type { Content } from '../domain/environment.ts'
import { type Engine, EngineFailure, type EngineLogLine } from '../engines/engine.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Db } from '../store/db.ts'
import type { LogStore } from '../store/log-store.ts'
import type { SecretBox } from '../store/secret-box.ts'
import { findUpload } from '../store/uploads.ts'
import { variablesFor } from './container-spec.ts'
import type { EnvironmentView, RolloutView } from './environment-view.ts'
import type { Builder, BuildSource, UploadFiles } from './ports.ts'
import type { Transitions } from './transitions.ts'

const buildTimeoutMs = 30 * 60_000
const buildsAtOnce = 2

export interface ImageMakerParts {
  db: Db
  clock: Clock
  log: Log
  logs: LogStore
  secrets: SecretBox
  builder: Builder
  uploads: UploadFiles
  transitions: Transitions
}

interface MadeImage {
  image: string
  gitCommitId: string | null
}

/** Brings a rollout from BUILDING (or from an image not pulled yet) to an image the engine can run. */
export class ImageMaker {
  readonly #parts: ImageMakerParts
  #free = buildsAtOnce
  readonly #waiting: (() => void)[] = []

  constructor(parts: ImageMakerParts) {
    this.#parts = parts
  }

  /** Resolves when the rollout moved on: to DEPLOYING, or to FAILED with the reason. */
  async make(engine: Engine, view: EnvironmentView, wanted: RolloutView, signal: AbortSignal): Promise<void> {
    const { appEnvId } = view.environment
    const { rolloutId } = wanted.rollout
    const onLog = this.#keeper(appEnvId, wanted.content.contentId)
    try {
      const { image, gitCommitId } =
        wanted.content.type === 'BUILD'
          ? await this.#build(engine, view, wanted, onLog, signal)
          : await this.#pull(engine, view, wanted, onLog, signal)
      if (!signal.aborted) await this.#parts.transitions.imageReady(rolloutId, image, gitCommitId)
    } catch (error) {
      if (signal.aborted) return
      const say = (message: string) =>
        onLog({ timestamp: timestamp(this.#parts.clock.wallMs()), stream: 'stderr', message })
      if (error instanceof AppError && error.kind === 'unavailable') {
        say(`${error.message}. This waits and begins again by itself.`)
        throw error
      }
      const failure = this.#failureOf(error)
      say(failure.message)
      await this.#parts.transitions.fail(appEnvId, rolloutId, failure)
    }
  }

  async #build(
    engine: Engine,
    view: EnvironmentView,
    { rollout, content }: RolloutView,
    onLog: (line: EngineLogLine) => void,
    signal: AbortSignal,
  ): Promise<MadeImage> {
    const { app, environment } = view
    const source = await this.#sourceOf(app, content)
    const buildArgs = variablesFor('BUILD', rollout.settings, environment.appEnvId, this.#parts.secrets)
    const secretNames = rollout.settings.envVars
      .filter((variable) => variable.isSecret)
      .map(({ name }) => name)
    const deadline = AbortSignal.timeout(buildTimeoutMs)
    return this.#inTurn(async () => {
      const built = await this.#parts
        .builder({
          engine,
          source,
          content: {
            appEnvId: environment.appEnvId,
            contentId: content.contentId,
            contextDir: app.contextDir,
            dockerfilePath: app.dockerfilePath,
            dockerfileContent: app.customDockerfileContent,
            preset: app.dockerPreset,
            buildArgs,
            secretBuildArgs: secretNames.flatMap((name) => buildArgs[name] ?? []),
            runsCommands: app.isJob,
          },
          onLog,
          signal: AbortSignal.any([signal, deadline]),
        })
        .catch((error) => {
          if (!deadline.aborted || signal.aborted) throw error
          throw new EngineFailure(
            'build timeout',
            `The build took longer than ${buildTimeoutMs / 60_000} minutes.`,
          )
        })
      return built
    })
  }

  async #sourceOf(app: App, content: Content): Promise<BuildSource> {
    if (content.gitBranch !== null && app.gitNamespace !== null && app.gitRepo !== null) {
      const { gitNamespace: namespace, gitRepo: repo } = app
      return { kind: 'git', namespace, repo, branch: content.gitBranch, commitId: content.gitCommitId }
    }
    const upload = await this.#parts.db.read((tx) => findUpload(tx, { uploadId: content.uploadId ?? '' }))
    if (!upload) throw new EngineFailure('bad archive', 'The uploaded source is gone; upload it again.')
    return { kind: 'upload', file: this.#parts.uploads.path(upload.uploadId), extension: upload.extension }
  }

  async #pull(
    engine: Engine,
    { app, environment }: EnvironmentView,
    { content }: RolloutView,
    onLog: (line: EngineLogLine) => void,
    signal: AbortSignal,
  ): Promise<MadeImage> {
    const image = content.image ?? ''
    if (app.isDatabase) {
      if (!engine.prepareDatabase) {
        throw new EngineFailure('not supported', `The ${engine.kind} engine runs no databases.`)
      }
      const database = {
        dockerPreset: app.dockerPreset as DatabasePresetName,
        version: environment.dockerPresetVersion ?? '',
        image,
      }
      return { image: await engine.prepareDatabase(database, onLog, signal), gitCommitId: null }
    }
    await engine.pull(image, onLog, signal)
    return { image, gitCommitId: null }
  }

  /** Two builds at a time: more would starve what serves. */
  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#free -= 1
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free += 1
    }
  }

  #keeper(appEnvId: string, contentId: string): (line: EngineLogLine) => void {
    return ({ timestamp, stream, message }) =>
      this.#parts.logs.append(appEnvId, [
        { at: timestamp, stream, type: 'BUILD', podName: null, contentId, message },
      ])
  }

  #failureOf(error: unknown): { reason: string; message: string } {
    if (error instanceof EngineFailure) return { reason: error.reason, message: error.message }
    this.#parts.log.error({ err: error }, 'a build failed by a fault of the platform')
    return { reason: 'interrupted', message: 'The platform could not finish this build. Deploy again.' }
  }
}
