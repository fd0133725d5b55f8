import { execFile } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import path from 'node:path'
import { EngineFailure } from '../engine.ts'

export type Runtime = 'node' | 'python' | 'system'

export interface Base {
  runtime: Runtime
  /** Starts if the Dockerfile has neither CMD nor ENTRYPOINT, as in the real image. */
  cmd: string[] | null
  /** A line for the build log that names the replacement. */
  note: string
}

const systems = new Set(
  'scratch busybox alpine debian ubuntu fedora almalinux rockylinux amazonlinux static base base-debian12 static-debian12'.split(
    ' ',
  ),
)

/** PATH for builds and containers: the Node that runs the platform comes first. */
export function hostPath(): string {
  const rest = (process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin').split(':')
  return [
    ...new Set([path.dirname(process.execPath), ...rest.filter((entry) => path.isAbsolute(entry))]),
  ].join(':')
}

/**
 * The host's runtime for `FROM image`; throws `not supported` if there is none. `nodeImage` is Node whatever its name:
 * the presets start from it on every engine.
 */
export async function resolveBase(
  image: string,
  line: number,
  nodeImage: string | null,
  searchPath: string,
): Promise<Base> {
  const runtime = image === nodeImage ? 'node' : runtimeOf(image)
  const refuse = (why: string) =>
    new EngineFailure(
      'not supported',
      `Dockerfile line ${line}: FROM ${image}: ${why} The process engine offers the host’s own node and python, and plain system images; with LONGSHORE_ENGINE=docker any image can be a base.`,
    )
  if (runtime === null) throw refuse('this image is not a runtime of this machine.')
  if (runtime === 'system')
    return { runtime, cmd: null, note: `${image}: this machine’s own system stands in for it` }
  const programs = runtime === 'node' ? ['node'] : ['python3', 'python']
  const program = programs.find((name) => findProgram(name, searchPath) !== null)
  const version = program ? await versionOf(program, searchPath) : null
  if (!program || version === null) throw refuse(`this machine has no ${programs[0]} in its PATH.`)
  return { runtime, cmd: [program], note: `${image}: this machine’s ${program} ${version} stands in for it` }
}

/** Null if the image is neither a known runtime nor a plain system. */
export function runtimeOf(image: string): Runtime | null {
  const name = image.split('@')[0]!.split('/').at(-1)!.split(':')[0]!
  if (/^node(js)?\d*(-debian\d+)?$/.test(name)) return 'node'
  if (/^python\d*(-debian\d+)?$/.test(name)) return 'python'
  return systems.has(name) ? 'system' : null
}

export function findProgram(name: string, searchPath: string): string | null {
  for (const dir of searchPath.split(':')) {
    const file = path.join(dir, name)
    try {
      accessSync(file, constants.X_OK)
      if (statSync(file).isFile()) return file
    } catch {
      // Not in this folder.
    }
  }
  return null
}

const versions = new Map<string, Promise<string | null>>()

function versionOf(program: string, searchPath: string): Promise<string | null> {
  if (program === 'node') return Promise.resolve(process.version)
  const file = findProgram(program, searchPath)!
  let version = versions.get(file)
  if (!version) {
    version = new Promise((resolve) => {
      execFile(file, ['--version'], { timeout: 10_000 }, (error, stdout, stderr) =>
        resolve(error ? null : (stdout || stderr).trim().replace(/^python\s+/i, '')),
      )
    })
    versions.set(file, version)
  }
  return version
}
