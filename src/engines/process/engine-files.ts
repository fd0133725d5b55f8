import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { AppError } from '../../errors.ts'
import { writeModuleBoundary } from './module-boundary.ts'

/** Paths of the process engine below the data directory. */
export interface EngineFiles {
  /** `<home>/engine`, mode 0700. */
  readonly dir: string
  /** `images/<contentId>/{image.json,root/}` */
  readonly images: string
  /** `containers/<name>/{record.json,log.jsonl,log.1.jsonl,home/}` */
  readonly containers: string
  /** `volumes/<appEnvId>/<volume>/` */
  readonly volumes: string
  /** Stand-ins for commands that would change the machine, first in PATH of RUN. */
  readonly shims: string
  /** Program and lowest layer of private roots. */
  readonly privateRoot: string
  /** Ends Node's search for modules at `dir`. */
  readonly moduleBoundary: string
  readonly supervisorLog: string
  readonly socket: string
  /** Name of the lock in the abstract socket namespace; the kernel releases it when the supervisor dies. */
  readonly lock: string
}

// sockaddr_un holds 108 bytes including the final NUL.
const longestSocketPath = 100

export function engineFiles(home: string): EngineFiles {
  const dir = path.join(path.resolve(home), 'engine')
  const hash = createHash('sha256').update(dir).digest('hex').slice(0, 24)
  const near = path.join(dir, 'supervisor.sock')
  return {
    dir,
    images: path.join(dir, 'images'),
    containers: path.join(dir, 'containers'),
    volumes: path.join(dir, 'volumes'),
    shims: path.join(dir, 'shims'),
    privateRoot: path.join(dir, 'private-root'),
    moduleBoundary: path.join(dir, 'module-boundary.cjs'),
    supervisorLog: path.join(dir, 'supervisor.log'),
    socket:
      Buffer.byteLength(near) <= longestSocketPath
        ? near
        : path.join(tmpdir(), `longshore-${hash}`, 'supervisor.sock'),
    lock: `\0longshore-supervisor-${process.getuid?.() ?? 0}-${hash}`,
  }
}

/**
 * Creates the folders; the socket's folder is private to this user. Throws `unavailable` if the data directory is not
 * writable, or if another user created the socket's folder first (an attack in the shared temporary folder).
 */
export function makeEngineDirs(files: EngineFiles): void {
  try {
    mkdirSync(files.images, { recursive: true })
    mkdirSync(files.containers, { recursive: true })
    chmodSync(files.dir, 0o700)
    // Without its own package.json a program would use the nearest one above, possibly of a project around the data
    // directory such as Longshore's, which would turn every file into an ES module.
    writeFileSync(path.join(files.dir, 'package.json'), '{}\n')
    writeModuleBoundary(files.moduleBoundary)
    mkdirSync(path.dirname(files.socket), { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new AppError('unavailable', 'The process engine cannot write its folder', {
      details: `Make ${files.dir} writable for this user, or choose another LONGSHORE_HOME (${(error as NodeJS.ErrnoException).code}).`,
      cause: error,
    })
  }
  const stat = lstatSync(path.dirname(files.socket))
  if (!stat.isDirectory() || stat.uid !== process.getuid?.() || (stat.mode & 0o077) !== 0) {
    throw new AppError('unavailable', 'The folder of the process engine’s socket belongs to another user', {
      details: `Remove ${path.dirname(files.socket)}, or choose a shorter LONGSHORE_HOME so that it is not needed.`,
    })
  }
}

/** Private folder of a container; the HOME by which its processes are found. */
export function containerHome(files: EngineFiles, name: string): string {
  return path.join(files.containers, assertFileName(name), 'home')
}

/** Names and ids become folder names; only these characters are allowed, so never a path. */
export function assertFileName(value: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(value))
    throw new Error(`not usable as a folder name: ${JSON.stringify(value)}`)
  return value
}
