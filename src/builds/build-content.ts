import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import path from 'node:path'
import { counted, readableBytes } from '../amounts.ts'
import { type Clock, timestamp } from '../clock.ts'
import { commitVariables } from '../domain/apps/commit-variables.ts'
import { generatesDockerfile } from '../domain/apps/presets.ts'
import { withoutStaticServer } from '../domain/apps/static-server.ts'
import { type BuiltImage, type Engine, EngineFailure, type EngineLogLine } from '../engines/engine.ts'
import { chooseDockerfile } from './choose-dockerfile.ts'
import type { BuildSource, ContentToBuild } from './content.ts'
import { fetchGit } from './fetch-git.ts'
import { sourceNotes } from './source-notes.ts'
import type { SourceWriter } from './source-writer.ts'
import { unpackArchive } from './unpack-archive.ts'

/** The result of `buildContent`. */
interface BuiltContent extends BuiltImage {
  /** The commit it was built from; null for an upload. */
  gitCommitId: string | null
}

export interface BuildContentOptions {
  engine: Engine
  source: BuildSource
  /** Base URL of `git` sources. */
  gitBaseUrl: string
  /** Base image of generated Dockerfiles. */
  nodeImage: string
  content: ContentToBuild
  /** Parent of the private folder that this build creates and always removes. */
  buildsDir: string
  onLog: (line: EngineLogLine) => void
  signal: AbortSignal
  timeoutMs: number
  clock: Clock
}

/**
 * Turns an upload or a commit into an image: unpack, choose the Dockerfile, then `engine.build`. Throws
 * `EngineFailure` with a reason if the tenant's source is at fault, `AppError('unavailable')` if the engine is down
 * or the disk is full, and the signal's reason if it is aborted. The upload itself is kept.
 */
export async function buildContent(options: BuildContentOptions): Promise<BuiltContent> {
  const { signal, timeoutMs, clock, buildsDir, content } = options
  signal.throwIfAborted()
  const limited = new AbortController()
  const outOfTime = new EngineFailure(
    'build timeout',
    `The build took longer than ${Math.round(timeoutMs / 1000)} seconds. Make it shorter: build on a smaller base image, or copy less.`,
  )
  const cancelTimer = clock.after(timeoutMs, () => limited.abort(outOfTime))
  const onAbort = () => limited.abort(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  let workDir: string | null = null
  try {
    await mkdir(buildsDir, { recursive: true, mode: 0o700 })
    // Never shared: the same content may be built for two regions, or again while an aborted build shuts down.
    workDir = await mkdtemp(path.join(buildsDir, `${content.contentId}-`))
    return await unpackAndBuild(options, workDir, limited.signal)
  } catch (error) {
    throw limited.signal.aborted ? limited.signal.reason : error
  } finally {
    cancelTimer()
    signal.removeEventListener('abort', onAbort)
    if (workDir) await rm(workDir, { recursive: true, force: true })
  }
}

async function unpackAndBuild(
  options: BuildContentOptions,
  workDir: string,
  signal: AbortSignal,
): Promise<BuiltContent> {
  const { engine, clock } = options
  // Builders show the commands of the Dockerfile.
  const onLog: BuildContentOptions['onLog'] = (line) =>
    options.onLog({ ...line, message: withoutStaticServer(line.message) })
  if (!engine.capabilities.builds) {
    throw new EngineFailure(
      'not supported',
      'This engine cannot build source. Deploy a prebuilt image instead.',
    )
  }
  const say = (text: string) => {
    for (const message of text.split('\n'))
      onLog({ timestamp: timestamp(clock.wallMs()), stream: 'stdout', message })
  }
  const startedMs = clock.monotonicMs()
  const contextDir = options.content.contextDir ?? '.'
  const { sourceDir, gitCommitId, found } = await bringSource(options, workDir, contextDir, say, signal)
  if (sourceDir !== path.join(workDir, 'source')) {
    say(`The source is in the folder ${path.basename(sourceDir)}`)
  }
  for (const line of await sourceNotes(sourceDir, found)) say(line)
  const { preset, ...content } = options.content
  const chosen = await chooseDockerfile({
    sourceDir,
    contextDir,
    dockerfilePath: content.dockerfilePath,
    dockerfileContent: content.dockerfileContent,
    preset,
    nodeImage: options.nodeImage,
    buildVariables: Object.keys(content.buildArgs),
  })
  say(chosen.logLine)
  const dockerfilePath = content.dockerfilePath ?? 'Dockerfile'
  const gitBranch = options.source.kind === 'git' ? options.source.branch : null
  const commit = commitVariables({ gitCommitId: gitCommitId ?? content.gitCommitId ?? null, gitBranch })
  const buildArgs = { ...commit, ...content.buildArgs }
  const spec = {
    ...content,
    buildArgs,
    contextDir,
    dockerfilePath,
    sourceDir,
    dockerfileContent: chosen.content,
  }
  const { image } = await engine.build(spec, onLog, signal)
  say(`Built in ${((clock.monotonicMs() - startedMs) / 1000).toFixed(1)} s`)
  return { image, gitCommitId }
}

/** Uploads and commits are unpacked by the same rules. */
async function bringSource(
  options: BuildContentOptions,
  workDir: string,
  contextDir: string,
  say: (text: string) => void,
  signal: AbortSignal,
): Promise<{ sourceDir: string; gitCommitId: string | null; found?: SourceWriter['found'] }> {
  const { source, clock, gitBaseUrl, content } = options
  const into = path.join(workDir, 'source')
  if (source.kind === 'git') {
    say(`Fetching ${source.commitId ?? `branch ${source.branch}`} of ${source.namespace}/${source.repo}`)
    const { file, commitId } = await fetchGit({ ...source, baseUrl: gitBaseUrl }, { workDir, clock, signal })
    say(`Commit ${commitId}`)
    const unpacked = await unpackArchive({ file, extension: '.tgz', into, dockerfile: null, signal })
    say(`Unpacked ${counted(unpacked.files, 'file')}, ${readableBytes(unpacked.bytes)}`)
    return { ...unpacked, gitCommitId: commitId }
  }
  say('Unpacking the upload')
  const inContext = (name: string) => path.posix.join(contextDir, name)
  const { fetch, extension } = source
  const file = await fetch(workDir)
  if (file === null)
    throw new EngineFailure('lost upload', 'The uploaded source no longer exists; upload it again.')
  const unpacked = await unpackArchive({
    file,
    extension,
    into,
    dockerfile: content.dockerfileContent === null ? inContext(content.dockerfilePath ?? 'Dockerfile') : null,
    landmarks: generatesDockerfile(content.preset) ? ['package.json', 'index.html'].map(inContext) : [],
    signal,
  })
  say(`Unpacked ${counted(unpacked.files, 'file')}, ${readableBytes(unpacked.bytes)}`)
  return { ...unpacked, gitCommitId: null }
}
