import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { AppError } from '../../errors.ts'

/** Where the process engine keeps what it needs, below the installation's home. */
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
  readonly supervisorLog: string
  readonly socket: string
  /** Name of the lock in the abstract socket namespace: the kernel frees it when the supervisor dies. */
  readonly lock: string
}

// sockaddr_un holds 108 bytes with the final NUL.
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
    supervisorLog: path.join(dir, 'supervisor.log'),
    socket:
      Buffer.byteLength(near) <= longestSocketPath
        ? near
        : path.join(tmpdir(), `longshore-${hash}`, 'supervisor.sock'),
    lock: `\0longshore-supervisor-${process.getuid?.() ?? 0}-${hash}`,
  }
}

/**
 * Makes the folders, the socket's one private to this user. Throws `unavailable` where the home cannot be
 * written, or where another user made the socket's folder first (a trap in the shared temporary folder).
 */
export function makeEngineDirs(files: EngineFiles): void {
  try {
    mkdirSync(files.images, { recursive: true })
    mkdirSync(files.containers, { recursive: true })
    chmodSync(files.dir, 0o700)
    // Where a program's own folder has no package.json, Node takes the next one above: never that of a project
    // the home lies in, such as Longshore's own, which would make a module of every file.
    writeFileSync(path.join(files.dir, 'package.json'), '{}\n')
    mkdirSync(path.dirname(files.socket), { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new AppError('unavailable', 'The process engine cannot write its folder', {
      details: `Make ${files.dir} writable for this user, or choose another LONGSHORE_HOME (${(error as NodeJS.ErrnoException).code}).`,
      cause: error,
    })
  }
  const stat = lstatSync(path.dirname(files.socket))
  if (!stat.isDirectory() || stat.uid !== process.getuid?.() || (stat.mode & 0o077) !== 0) {
    throw new AppError('unavailable', 'The folder of the process engine’s socket belongs to somebody else', {
      details: `Remove ${path.dirname(files.socket)}, or choose a shorter LONGSHORE_HOME so that it is not needed.`,
    })
  }
}

/** Names and ids become folder names: nothing but these characters, so never a path. */
export function assertFileName(value: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(value))
    throw new Error(`not usable as a folder name: ${JSON.stringify(value)}`)
  return value
}
