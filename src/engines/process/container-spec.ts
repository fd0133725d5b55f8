import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { type ContainerSpec, EngineFailure } from '../engine.ts'
import { keepingPath } from '../login-shell.ts'
import { containerHome, type EngineFiles } from './engine-files.ts'
import { hostPath } from './host-runtimes.ts'
import { ImagePaths } from './image-paths.ts'
import type { ProcessImage } from './image-store.ts'
import { withBoundary } from './module-boundary.ts'
import type { PrivateRoot } from './private-root/private-root.ts'
import type { StartRequest } from './supervisor/protocol.ts'
import { mountVolumes, volumeBinds } from './volumes.ts'

const pathLists = ['PATH', 'NODE_PATH', 'PYTHONPATH']

interface StartOptions {
  files: EngineFiles
  /** Folder of the image's files. */
  root: string
  /** Null if this machine offers none. */
  privateRoot: PrivateRoot | null
}

/**
 * The process to spawn for a container. Its environment is PATH, ENV of the Dockerfile and the container's own
 * variables, in this order, and none of the platform's variables.
 */
export function startRequest(
  spec: ContainerSpec,
  image: ProcessImage,
  { files, root, privateRoot }: StartOptions,
): StartRequest {
  const paths = new ImagePaths(root, privateRoot)
  if (spec.workingDir) makeWorkingDir(paths, workingDirOf(spec, image))
  return privateRoot
    ? rootedRequest(spec, image, { files, paths, privateRoot })
    : plainRequest(spec, image, { files, paths })
}

function rootedRequest(
  spec: ContainerSpec,
  image: ProcessImage,
  { files, paths, privateRoot }: { files: EngineFiles; paths: ImagePaths; privateRoot: PrivateRoot },
): StartRequest {
  const around = {
    dir: containerHome(files, spec.name),
    image: paths.root,
    host: spec.name,
    binds: volumeBinds(spec, paths, files.volumes),
  }
  const command = {
    argv: spec.command ? keepingPath(spec.command) : commandOf(spec, image),
    cwd: workingDirOf(spec, image),
    env: { ...image.env, ...spec.env },
  }
  return { ...identity(spec), ...privateRoot.inside(around, command), isRooted: true }
}

/** Without a private root: paths in the command and in lists of paths become those of the machine, volumes are links. */
function plainRequest(
  spec: ContainerSpec,
  image: ProcessImage,
  { files, paths }: { files: EngineFiles; paths: ImagePaths },
): StartRequest {
  mountVolumes(spec, paths.root, files.volumes)
  const env: Record<string, string> = { PATH: hostPath(), ...image.env }
  for (const name of pathLists) {
    if (env[name] !== undefined) env[name] = paths.mapPathList(env[name])
  }
  return {
    ...identity(spec),
    argv: paths.mapWords(commandOf(spec, image)),
    cwd: paths.toHost(workingDirOf(spec, image)),
    env: withBoundary({ ...env, ...withMountPaths(spec, paths) }, files),
  }
}

function makeWorkingDir(paths: ImagePaths, workingDir: string): void {
  try {
    mkdirSync(paths.forWriting(workingDir), { recursive: true })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EEXIST' && code !== 'ENOTDIR' && code !== 'ENAMETOOLONG') throw error
    throw new EngineFailure(
      'bad-command',
      `The working directory ${workingDir} cannot be made: it is not a folder.`,
      {
        cause: error,
      },
    )
  }
}

function identity({ name, podId, appEnvId, port, memoryMb }: ContainerSpec) {
  return { name, podId, appEnvId, declaredPort: port, memoryMb }
}

function commandOf(spec: ContainerSpec, image: ProcessImage): string[] {
  const argv = spec.command ?? [...(image.entrypoint ?? []), ...(image.cmd ?? [])]
  if (argv.length > 0) return [...argv]
  throw new EngineFailure('exited', 'The image has no command to run. Add CMD ["program", "argument"].')
}

/** A relative working directory is relative to the image's. */
function workingDirOf({ workingDir }: ContainerSpec, { workdir }: ProcessImage): string {
  return path.posix.resolve('/', workdir, workingDir ?? '')
}

/**
 * A value that is a mount path, or a path below one, refers to the volume: code finds its data through a variable.
 */
function withMountPaths(spec: ContainerSpec, paths: ImagePaths): Record<string, string> {
  const mounts = spec.mounts ?? []
  if (mounts.length === 0) return spec.env
  const below = (value: string) => mounts.some(({ path }) => value === path || value.startsWith(`${path}/`))
  const mapped = Object.entries(spec.env).map(([name, value]) => [
    name,
    below(value) ? paths.toHost(value) : value,
  ])
  return Object.fromEntries(mapped)
}
