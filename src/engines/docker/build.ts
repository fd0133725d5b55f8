import type Docker from 'dockerode'
import { type Clock, timestamp } from '../../clock.ts'
import { createMask, type Mask } from '../../domain/environments/secret-masker.ts'
import type { Log } from '../../log.ts'
import { yieldAlone } from '../../pacer.ts'
import { openContext, readDockerfile } from '../dockerfile/build-context.ts'
import { checkExpansion } from '../dockerfile/expansion-check.ts'
import { refuseRemoteAdd } from '../dockerfile/remote-add.ts'
import {
  type BuildSpec,
  type BuiltImage,
  EngineFailure,
  type EngineLogLine,
  shortestBuildSecret,
} from '../engine.ts'
import { baseImageOf } from './base-image.ts'
import { BuildOutput, buildFailure, hasLostLayer } from './build-output.ts'
import { explainBuildKit, refuseHereDocument } from './buildkit-only.ts'
import { giveName, tidy } from './built-images.ts'
import { engineAway, engineError, engineSentence, jsonLines, requestInTime, statusOf } from './client.ts'
import { refuseOthersImages } from './cross-tenant-image-guard.ts'
import { imageTag } from './image-names.ts'
import { buildContainerPrefix, label } from './names.ts'
import { platformArgs } from './platform-args.ts'
import { type BuildSecret, secretsTaken, withoutSecrets } from './secrets.ts'

/** Memory limit of the RUN steps of one build, including their page cache. */
const buildMemoryBytes = 4 * 1024 * 1024 * 1024

/** Less than the 1024 of running containers, which have priority when the CPU is busy. */
const buildCpuShares = 512

interface BuildOptions {
  docker: Docker
  installationId: string
  /** Network of the RUN steps. */
  network: string
  clock: Clock
  log: Log
}

/**
 * Builds with the classic builder, and names the image after its content. BuildKit inside Docker limits neither the memory of
 * a RUN step nor its network (docs/decisions/docker-builder.md).
 */
export async function buildImage(
  options: BuildOptions,
  given: BuildSpec,
  onLog: (line: EngineLogLine) => void,
  signal: AbortSignal,
): Promise<BuiltImage> {
  let spec = given
  const mask = createMask(spec.secretBuildArgs, shortestBuildSecret)
  const say = (message: string, stream: EngineLogLine['stream'] = 'stdout') => {
    onLog({ timestamp: timestamp(options.clock.wallMs()), stream, message: mask(message) })
  }
  let output = new BuildOutput((line) => say(line.message, line.stream), mask)
  let abandoned: BuildOutput | null = null
  let built: string | null = null
  let taken: BuildSecret[] = []
  try {
    const dockerfile = await readDockerfile(spec)
    const own = await platformArgs(options.docker, dockerfile)
    spec = { ...spec, buildArgs: { ...own, ...spec.buildArgs } }
    // Each reads all of the tenant's text, so yield to other work in between.
    for (const refuse of [refuseHereDocument, refuseRemoteAdd, refuseOthersImages]) {
      refuse(dockerfile, spec.buildArgs)
      await yieldAlone()
    }
    await checkExpansion(dockerfile, spec.buildArgs, (image) =>
      baseImageOf(options.docker, image, say, signal),
    )
    taken = secretsTaken(spec, dockerfile)
    const startedMs = options.clock.wallMs()
    try {
      built = await runBuild(options, spec, output, signal)
    } catch (error) {
      const reason = await reasonToRepeat(options, error, startedMs, output.stepContainer)
      if (reason === null || signal.aborted) throw explainBuildKit(error)
      say(`${reason}; building again.`)
      abandoned = output
      output = new BuildOutput((line) => say(line.message, line.stream), mask)
      built = await runBuild(options, spec, output, signal)
    }
    const kept = await withoutSecrets({
      docker: options.docker,
      imageId: built,
      secrets: taken,
      containerPrefix: buildContainerPrefix(options.installationId),
      onLine: say,
      signal,
    })
    await giveName(options.docker, kept, imageTag(spec.appEnvId, spec.contentId))
    if (kept === built) built = null
  } catch (error) {
    throw signal.aborted ? interrupted(signal) : masked(engineError(error), mask)
  } finally {
    const leaky = taken.length > 0 || output.hasDownloads || abandoned?.hasDownloads === true
    // After a retry, remove only leaky images of the first try; the second try reused the rest.
    const stages = leaky ? [...(abandoned?.stages ?? []), ...output.stages] : output.stages
    await tidy(options, spec, { dropped: built, stages, leaky })
  }
  return { image: imageTag(spec.appEnvId, spec.contentId) }
}

async function runBuild(
  { docker, installationId, network }: BuildOptions,
  spec: BuildSpec,
  output: BuildOutput,
  signal: AbortSignal,
): Promise<string> {
  const context = await openContext(spec)
  try {
    const answer = await docker.buildImage(
      context.tar as unknown as NodeJS.ReadableStream,
      {
        dockerfile: context.dockerfile,
        buildargs: spec.buildArgs,
        labels: {
          [label.installation]: installationId,
          [label.environment]: spec.appEnvId,
          [label.content]: spec.contentId,
        },
        rm: true,
        forcerm: true,
        memory: buildMemoryBytes,
        memswap: buildMemoryBytes,
        cpushares: buildCpuShares,
        networkmode: network,
        version: '1',
        abortSignal: signal,
      } as Docker.ImageBuildOptions,
    )
    await output.feedAll(jsonLines(answer as unknown as AsyncIterable<Buffer>))
  } catch (error) {
    output.finish()
    throw refusal(error)
  } finally {
    context.tar.destroy()
  }
  const image = output.finish()
  if (!image) throw engineAway(new Error('the build output ended before the image was made'))
  return image
}

/** Why a failed build may succeed on a second try; null if the source is at fault. */
async function reasonToRepeat(
  { docker, clock }: BuildOptions,
  error: unknown,
  startedMs: number,
  stepContainer: string | null,
): Promise<string | null> {
  if (!(error instanceof EngineFailure)) return null
  if (hasLostLayer(error)) return 'A layer of the build cache was removed meanwhile'
  // The engine kills a step when it takes the platform for disconnected. Running out of memory also kills a step.
  if (!/exit code: 137/.test(error.message)) return null
  if (await ranOutOfMemory(docker, startedMs, clock.wallMs(), stepContainer)) return null
  return 'The engine stopped the step, most likely because it lost the connection'
}

/** Whether the step's container, or any if it is not known, ran out of memory then; throws `unavailable`. */
async function ranOutOfMemory(
  docker: Docker,
  fromMs: number,
  toMs: number,
  stepContainer: string | null,
): Promise<boolean> {
  const query = {
    since: Math.floor(fromMs / 1000),
    until: Math.ceil(toMs / 1000),
    filters: { type: ['container'], event: ['oom'], ...(stepContainer && { container: [stepContainer] }) },
  }
  const events = await requestInTime((abortSignal) => docker.getEvents({ ...query, abortSignal } as object))
  for await (const _ of jsonLines(events as unknown as AsyncIterable<Buffer>)) return true
  return false
}

/** The engine rejects an invalid Dockerfile before it sends any output. */
function refusal(error: unknown): unknown {
  const status = statusOf(error)
  const sentence = status === null ? '' : engineSentence(error)
  // The platform packs the context, so only a lost connection cuts it short. No step has run.
  if (/unexpected EOF/.test(sentence)) return engineAway(error)
  return status === 400 || /dockerfile|build stage|instruction/i.test(sentence)
    ? buildFailure(sentence, null)
    : error
}

function interrupted(signal: AbortSignal): EngineFailure {
  if (signal.reason instanceof EngineFailure) return signal.reason
  return new EngineFailure('interrupted', 'The build was stopped before it ended.')
}

function masked(error: unknown, mask: Mask): unknown {
  if (!(error instanceof EngineFailure)) return error
  return new EngineFailure(error.reason, mask(error.message), { cause: error.cause })
}
