import type { BuildSource } from '../../builds/content.ts'
import { type Clock, timestamp } from '../../clock.ts'
import type { App } from '../../contract/apps.ts'
import type { DatabasePresetName } from '../../contract/fields.ts'
import { appOfVersion } from '../../domain/apps/app-settings.ts'
import type { Content } from '../../domain/environments/environment.ts'
import type { Mask } from '../../domain/environments/secret-masker.ts'
import { type Engine, EngineFailure, type EngineLogLine } from '../../engines/engine.ts'
import { AppError } from '../../errors.ts'
import type { LogStore } from '../../files/log-store.ts'
import type { Log } from '../../log.ts'
import type { Db } from '../../store/db.ts'
import { findUpload } from '../../store/repositories/uploads.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import { writeUntilStored } from '../../store/write-until-stored.ts'
import type { LogMasks } from '../logs/masks.ts'
import type { Builder, UploadFiles } from '../ports.ts'
import { BuildQueue } from './build-queue.ts'
import { variablesFor } from './container-spec.ts'
import type { EnvironmentView, RolloutView } from './environment-view.ts'
import type { RolloutWriter } from './writer.ts'

const buildTimeoutMs = 30 * 60_000

export interface ImageBuilderDeps {
  db: Db
  clock: Clock
  log: Log
  logs: LogStore
  masks: LogMasks
  secrets: SecretBox
  builder: Builder
  uploads: UploadFiles
  rollouts: RolloutWriter
}

interface MadeImage {
  image: string
  gitCommitId: string | null
}

/** Characters of the reason of a failure. */
const longestFailure = 8_000

/** Brings a rollout from BUILDING (or an image that is not pulled yet) to an image that the engine can run. */
export class ImageBuilder {
  readonly #deps: ImageBuilderDeps
  readonly #queue = new BuildQueue()

  constructor(deps: ImageBuilderDeps) {
    this.#deps = deps
  }

  /** Resolves when the rollout is DEPLOYING, or FAILED with a reason. */
  async make(engine: Engine, view: EnvironmentView, wanted: RolloutView, signal: AbortSignal): Promise<void> {
    const { appEnvId } = view.environment
    const { rolloutId } = wanted.rollout
    const mask = await this.#deps.masks.of(appEnvId, { rolloutId })
    const onLog = this.#keeper(appEnvId, wanted.content.contentId, mask)
    try {
      const { image, gitCommitId } =
        wanted.content.type === 'BUILD'
          ? await this.#build(engine, view, wanted, onLog, signal)
          : await this.#pull(engine, view, wanted, onLog, signal)
      if (signal.aborted) return
      const imageCommand = view.app.isJob ? ((await engine.imageCommand?.(image)) ?? null) : null
      const facts = { gitCommitId, imageCommand }
      await this.#store(signal, () => this.#deps.rollouts.imageReady(rolloutId, image, facts))
    } catch (error) {
      if (signal.aborted) return
      const say = (message: string) =>
        onLog({ timestamp: timestamp(this.#deps.clock.wallMs()), stream: 'stderr', message })
      if (error instanceof AppError && error.kind === 'unavailable') {
        say(`${error.message}. The build waits and restarts automatically.`)
        throw error
      }
      const { reason, message } = this.#failureOf(error)
      // A failure may quote build output and expanded variables: masked first, then cut.
      const failure = { reason, message: mask(message).slice(0, longestFailure) }
      say(failure.message)
      await this.#store(signal, () => this.#deps.rollouts.fail(appEnvId, rolloutId, failure))
    }
  }

  /** A brief outage of the store must not waste a whole build. Stops only when a newer desired state aborts it. */
  async #store(signal: AbortSignal, write: () => Promise<unknown>): Promise<void> {
    await writeUntilStored(this.#deps.clock, signal, write).catch(() => {})
  }

  async #build(
    engine: Engine,
    view: EnvironmentView,
    { rollout, content }: RolloutView,
    onLog: (line: EngineLogLine) => void,
    signal: AbortSignal,
  ): Promise<MadeImage> {
    const { environment } = view
    const app = appOfVersion(view.app, content)
    const source = await this.#sourceOf(app, content)
    const buildArgs = variablesFor('BUILD', rollout.settings, environment.appEnvId, this.#deps.secrets)
    const secretNames = rollout.settings.envVars
      .filter((variable) => variable.isSecret)
      .map(({ name }) => name)
    return this.#queue.run(environment.accountId, signal, async () => {
      // The build's time begins here: it excludes the wait for a place.
      const deadline = AbortSignal.timeout(buildTimeoutMs)
      const built = await this.#deps
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
            gitCommitId: content.gitCommitId,
            // Short ones first: a mask has a limit, which one long value must not take up.
            secretBuildArgs: secretNames
              .flatMap((name) => (Object.hasOwn(buildArgs, name) ? buildArgs[name]! : []))
              .sort((a, b) => a.length - b.length),
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
    const upload = await this.#deps.db.read((tx) => findUpload(tx, { uploadId: content.uploadId ?? '' }))
    if (!upload)
      throw new EngineFailure('lost upload', 'The uploaded source no longer exists; upload it again.')
    const { uploadId, extension } = upload
    return { kind: 'upload', fetch: (dir) => this.#deps.uploads.fetch(uploadId, dir), extension }
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

  #keeper(appEnvId: string, contentId: string, mask: Mask): (line: EngineLogLine) => void {
    return ({ timestamp, stream, message }) =>
      this.#deps.logs.append(appEnvId, [
        { at: timestamp, stream, type: 'BUILD', podName: null, contentId, message: mask(message) },
      ])
  }

  #failureOf(error: unknown): { reason: string; message: string } {
    if (error instanceof EngineFailure) return { reason: error.reason, message: error.message }
    this.#deps.log.error({ err: error }, 'a build failed because of a platform error')
    return { reason: 'interrupted', message: 'The platform could not finish this build. Deploy again.' }
  }
}
