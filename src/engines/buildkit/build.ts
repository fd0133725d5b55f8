import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { type Clock, timestamp } from '../../clock.ts'
import { createMask } from '../../domain/environments/secret-masker.ts'
import { AppError } from '../../errors.ts'
import { spawnChild } from '../../spawn-child.ts'
import { contextFolder, readDockerfile } from '../dockerfile/build-context.ts'
import { checkExpansion } from '../dockerfile/expansion-check.ts'
import { hasHereDocument } from '../dockerfile/here-document.ts'
import { refuseRemoteAdd } from '../dockerfile/remote-add.ts'
import {
  type BuildSpec,
  type BuiltImage,
  EngineFailure,
  type EngineLogLine,
  shortestBuildSecret,
} from '../engine.ts'
import {
  buildArguments,
  type Registry,
  repositoryOf,
  secretNamesOf,
  secretVariable,
  sourcePolicy,
} from './command.ts'
import { withSecretMounts } from './dockerfile.ts'
import { buildFailure } from './failure.ts'
import { BuildProgress } from './progress.ts'

const longestOutput = 16 * 1024

interface BuildKitOptions {
  /** `tcp://host:port` or `unix:///path` of buildkitd. */
  address: string
  registry: Registry
  /** BuildKit's client program, with a path or to be found in PATH. */
  program?: string
  clock: Clock
}

/**
 * Builds with BuildKit, pushes to the region's registry and returns the image by its digest. Secret build variables
 * are build secrets. The cache is kept in the registry, one for each environment. Throws as `Engine.build` does.
 */
export async function buildWithBuildKit(
  options: BuildKitOptions,
  spec: BuildSpec,
  onLog: (line: EngineLogLine) => void,
  signal: AbortSignal,
): Promise<BuiltImage> {
  const mask = createMask(spec.secretBuildArgs, shortestBuildSecret)
  const say = (message: string, stream: EngineLogLine['stream']) =>
    onLog({ timestamp: timestamp(options.clock.wallMs()), stream, message: mask(message) })
  const workDir = await mkdtemp(path.join(os.tmpdir(), 'longshore-build-'))
  try {
    const dockerfile = await checkedDockerfile(spec)
    const folders = await writeInputs(workDir, options.registry, spec, dockerfile)
    const progress = new BuildProgress(say, mask)
    const output = await runBuildctl(options, spec, { ...folders, workDir }, progress, signal)
    if (output !== null) throw buildFailure(progress.takeFailed(), mask(output))
    const digest = JSON.parse(await readFile(folders.metadataFile, 'utf8'))['containerimage.digest']
    return { image: `${repositoryOf(options.registry.pull, spec.appEnvId)}@${digest}` }
  } catch (error) {
    if (!signal.aborted) throw error
    if (signal.reason instanceof EngineFailure) throw signal.reason
    throw new EngineFailure('interrupted', 'The build was stopped before it ended.')
  } finally {
    await rm(workDir, { recursive: true, force: true })
  }
}

async function checkedDockerfile(spec: BuildSpec): Promise<string> {
  const dockerfile = await readDockerfile(spec)
  if (hasHereDocument(dockerfile))
    throw new EngineFailure(
      'build step',
      'The Dockerfile has a here-document (<<), whose lines this platform cannot check before the build. Join the commands with && and backslashes, or copy a script from the source.',
    )
  refuseRemoteAdd(dockerfile)
  // Only BuildKit reads the base image: the memory of its own process bounds the instructions it adds.
  await checkExpansion(dockerfile, spec.buildArgs, async () => ({ env: new Map(), triggers: [] }))
  return dockerfile
}

async function writeInputs(workDir: string, registry: Registry, spec: BuildSpec, dockerfile: string) {
  const { appEnvId } = spec
  const folders = {
    contextDir: await contextFolder(spec),
    dockerfileDir: path.join(workDir, 'dockerfile'),
    policyFile: path.join(workDir, 'policy.json'),
    metadataFile: path.join(workDir, 'metadata.json'),
  }
  const secretNames = new Set(secretNamesOf(spec))
  await mkdir(folders.dockerfileDir)
  await writeFile(
    path.join(folders.dockerfileDir, 'Dockerfile'),
    withSecretMounts(dockerfile, { appEnvId, secretNames }),
  )
  await writeFile(folders.policyFile, JSON.stringify(sourcePolicy(registry)))
  if (registry.credentialsFile !== null)
    await symlink(path.resolve(registry.credentialsFile), path.join(workDir, 'config.json'))
  return folders
}

/** Null if the build succeeded, else the output of buildctl besides its progress. */
function runBuildctl(
  { address, registry, program = 'buildctl' }: BuildKitOptions,
  spec: BuildSpec,
  folders: Parameters<typeof buildArguments>[3] & { workDir: string },
  progress: BuildProgress,
  signal: AbortSignal,
): Promise<string | null> {
  const secrets = secretNamesOf(spec).map((name, index) => [secretVariable(index), spec.buildArgs[name]])
  return new Promise((resolve, reject) => {
    const child = spawnChild(program, buildArguments(address, registry, spec, folders), {
      env: {
        PATH: process.env.PATH,
        HOME: folders.workDir,
        // Its config.json holds the credentials of the registry.
        DOCKER_CONFIG: folders.workDir,
        ...Object.fromEntries(secrets),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      signal,
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY }).on('line', (line) => {
        if (!progress.feed(line)) output = `${output}${line}\n`.slice(-longestOutput)
      })
    child.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'ENOENT' ? missingProgram(program, error) : error)
    })
    child.once('close', (code) => resolve(code === 0 ? null : output || `buildctl ended with ${code}`))
  })
}

function missingProgram(program: string, cause: unknown): AppError {
  return new AppError('unavailable', 'The server has no buildctl, so it cannot build', {
    details: `The operator installs BuildKit's client ${program} on the machine of the server, in its PATH.`,
    cause,
  })
}
