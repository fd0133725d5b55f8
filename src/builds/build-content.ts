import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { type Clock, timestamp } from '../clock.ts'
import { type BuiltImage, type Engine, EngineFailure, type EngineLogLine } from '../engines/engine.ts'
import { type ArchiveExtension, unpackArchive } from './unpack-archive.ts'

export interface ContentToBuild {
  appEnvId: string
  contentId: string
  /** Relative to the source; null for its root. */
  contextDir: string | null
  /** Relative to `contextDir`; null for `Dockerfile`. */
  dockerfilePath: string | null
  dockerfileContent: string | null
  buildArgs: Record<string, string>
  secretBuildArgs: readonly string[]
  /** The image need not say what to run. */
  runsCommands?: boolean
}

export interface BuildContentOptions {
  engine: Engine
  upload: { file: string; extension: ArchiveExtension }
  content: ContentToBuild
  /** A folder for this build alone; made, and always removed. */
  workDir: string
  onLog: (line: EngineLogLine) => void
  signal: AbortSignal
  timeoutMs: number
  clock: Clock
}

/**
 * Turns an upload into an image: unpack, then `engine.build`. Throws `EngineFailure` when the tenant's source
 * is at fault (reason says how), `AppError('unavailable')` when the engine is away or the disk is full, and
 * the signal's reason when it is aborted. The upload itself is kept.
 */
export async function buildContent(options: BuildContentOptions): Promise<BuiltImage> {
  const { signal, timeoutMs, clock, workDir } = options
  signal.throwIfAborted()
  const limited = new AbortController()
  const outOfTime = new EngineFailure(
    'build timeout',
    `The build took longer than ${Math.round(timeoutMs / 1000)} seconds. Make it shorter: build on a smaller base image, or copy less.`,
  )
  const cancelTimer = clock.after(timeoutMs, () => limited.abort(outOfTime))
  const onAbort = () => limited.abort(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    // What an interrupted build of the same content left behind would only be in the way.
    await rm(workDir, { recursive: true, force: true })
    await mkdir(workDir, { recursive: true, mode: 0o700 })
    return await unpackAndBuild(options, limited.signal)
  } catch (error) {
    throw limited.signal.aborted ? limited.signal.reason : error
  } finally {
    cancelTimer()
    signal.removeEventListener('abort', onAbort)
    await rm(workDir, { recursive: true, force: true })
  }
}

async function unpackAndBuild(options: BuildContentOptions, signal: AbortSignal): Promise<BuiltImage> {
  const { engine, upload, workDir, onLog, clock } = options
  if (!engine.capabilities.builds) {
    throw new EngineFailure(
      'not supported',
      'This engine cannot build source. Deploy a prebuilt image instead.',
    )
  }
  const say = (message: string) => onLog({ timestamp: timestamp(clock.wallMs()), stream: 'stdout', message })
  const startedMs = clock.monotonicMs()
  const contextDir = options.content.contextDir ?? '.'
  const dockerfilePath = options.content.dockerfilePath ?? 'Dockerfile'
  const generated = options.content.dockerfileContent !== null
  say('Unpacking the upload')
  const unpacked = await unpackArchive({
    ...upload,
    into: path.join(workDir, 'source'),
    dockerfile: generated ? null : path.posix.join(contextDir, dockerfilePath),
    signal,
  })
  say(`Unpacked ${counted(unpacked.files, 'file')}, ${readableBytes(unpacked.bytes)}`)
  if (unpacked.sourceDir !== path.join(workDir, 'source')) {
    say(`The source is in the folder ${path.basename(unpacked.sourceDir)}`)
  }
  say(generated ? 'Building with the Dockerfile of the app settings' : `Building with ${dockerfilePath}`)
  const content = { ...options.content, contextDir, dockerfilePath, sourceDir: unpacked.sourceDir }
  const built = await engine.build(content, onLog, signal)
  say(`Built in ${((clock.monotonicMs() - startedMs) / 1000).toFixed(1)} s`)
  return built
}

function counted(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? '' : 's'}`
}

function readableBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  if (bytes < 1_000_000) return `${Math.round(bytes / 1000)} kB`
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}
