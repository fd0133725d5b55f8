import path from 'node:path'
import { type ContainerSpec, EngineFailure } from '../engine.ts'
import type { EngineFiles } from './engine-files.ts'
import { ImagePaths } from './image-paths.ts'
import type { ProcessImage } from './image-store.ts'
import { withBoundary } from './module-boundary.ts'
import type { StartRequest } from './supervisor/protocol.ts'

const pathLists = ['PATH', 'NODE_PATH', 'PYTHONPATH']

/**
 * The process to spawn for a container. Its environment is the host's PATH, ENV of the Dockerfile and the container's
 * own variables, in this order, and none of the platform's variables.
 */
export function startRequest(
  spec: ContainerSpec,
  image: ProcessImage,
  root: string,
  searchPath: string,
  files: EngineFiles,
): StartRequest {
  const paths = new ImagePaths(root)
  const env: Record<string, string> = { PATH: searchPath, ...image.env }
  for (const name of pathLists) {
    if (env[name] !== undefined) env[name] = paths.mapPathList(env[name])
  }
  const argv = spec.command ?? [...(image.entrypoint ?? []), ...(image.cmd ?? [])]
  if (argv.length === 0)
    throw new EngineFailure('exited', 'The image has no command to run. Add CMD ["program", "argument"].')
  return {
    name: spec.name,
    podId: spec.podId,
    appEnvId: spec.appEnvId,
    argv: paths.mapWords(argv),
    cwd: paths.toHost(workingDirOf(spec, image)),
    env: withBoundary({ ...env, ...withMountPaths(spec, paths) }, files),
    declaredPort: spec.port,
    memoryMb: spec.memoryMb,
  }
}

/** A relative working directory is relative to the image's. */
export function workingDirOf({ workingDir }: ContainerSpec, { workdir }: ProcessImage): string {
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
