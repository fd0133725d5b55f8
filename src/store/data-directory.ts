import { createHash, randomBytes } from 'node:crypto'
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { AppError } from '../errors.ts'
import { fileIdentity, lockFile, lockHolder } from '../lock-holder.ts'
import { Secret } from '../log.ts'
import { makeFolder } from '../make-folder.ts'
import { startedAt } from '../process-start.ts'

/** Paths of an embedded installation. */
export interface Home {
  dir: string
  database: string
  logs: string
  metrics: string
  builds: string
  adminToken: string
  masterKey: string
  /** Id of the newest data key known to the control plane. */
  dataKeyFile: string
  /** Address and token file of the running `serve`, for the client commands. */
  serveFile: string
  gatewaySocket: string
  /** The API for the gateway, which passes on requests to LONGSHORE_PUBLIC_URL. */
  apiSocket: string
}

// A Unix socket path has at most about 107 bytes; for a longer path the socket gets its own folder in the temp
// folder.
const longestSocketPath = 100

/** Creates the folders of the data directory, private to their owner. `makeRoom`: false if a full disk stays full. */
export function openHome(dir: string, makeRoom: () => boolean = () => false): Home {
  const run = path.join(dir, 'run')
  try {
    for (const folder of [dir, run, path.join(dir, 'builds')]) makeFolder(folder)
    probeOrMakeRoom(path.join(run, `probe-${process.pid}`), makeRoom)
  } catch (cause) {
    throw new AppError('unavailable', `The data directory ${dir} cannot be written`, {
      details: `${(cause as NodeJS.ErrnoException).code ?? 'error'}: choose a folder you own with LONGSHORE_HOME, or fix its permissions and free space.`,
      cause,
    })
  }
  return {
    dir,
    database: path.join(dir, 'longshore.db'),
    logs: path.join(dir, 'logs'),
    metrics: path.join(dir, 'metrics'),
    builds: path.join(dir, 'builds'),
    adminToken: path.join(dir, 'admin-token'),
    masterKey: path.join(dir, 'master-key'),
    dataKeyFile: path.join(run, 'data-key'),
    serveFile: path.join(run, 'serve.json'),
    gatewaySocket: socketPath(dir, path.join(run, 'gateway.sock')),
    apiSocket: socketPath(dir, path.join(run, 'api.sock')),
  }
}

/** For commands that create no installation: a mistyped LONGSHORE_HOME fails and creates no folders. */
export function requireHome(dir: string): void {
  if (existsSync(path.join(dir, 'longshore.db')) || existsSync(path.join(dir, 'run'))) return
  throw new AppError('not-found', `There is no installation at ${dir}`, {
    details: 'Set LONGSHORE_HOME to the data directory of the installation.',
  })
}

/** Even a full disk can store an empty file, so write as many bytes as a start needs. */
function probeSpace(file: string): void {
  try {
    writeFileSync(file, Buffer.alloc(64 * 1024))
  } finally {
    rmSync(file, { force: true })
  }
}

function probeOrMakeRoom(file: string, makeRoom: () => boolean): void {
  try {
    probeSpace(file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if ((code !== 'ENOSPC' && code !== 'EDQUOT') || !makeRoom()) throw error
    probeSpace(file)
  }
}

/** Why the data directory is not writable, for example a full disk, with the remedy; null if it is writable. */
export function homeProblem(dir: string): string | null {
  try {
    probeSpace(path.join(dir, 'run', `probe-${process.pid}`))
    return null
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'error'
    return `The data directory ${dir} cannot be written (${code}): fix its free space and permissions.`
  }
}

function socketPath(home: string, wanted: string): string {
  if (Buffer.byteLength(wanted) <= longestSocketPath) return wanted
  const folder = path.join(
    os.tmpdir(),
    `longshore-${createHash('sha256').update(home).digest('hex').slice(0, 16)}`,
  )
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const info = statSync(folder)
  if (process.getuid && info.uid !== process.getuid()) {
    throw new AppError('unavailable', `${folder} belongs to another user`, {
      details: 'Choose a shorter LONGSHORE_HOME; its path is too long for a socket.',
    })
  }
  return path.join(folder, 'gateway.sock')
}

/**
 * One control plane per data directory. Returns the function that releases the lock; throws with the process that
 * holds it.
 */
export function lockHome(dir: string): () => void {
  const lock = lockFile(dir)
  const mine = path.join(dir, 'run', `lock-${process.pid}-${randomBytes(4).toString('hex')}`)
  writeFileSync(mine, '', { mode: 0o600 })
  writeFileSync(mine, `${process.pid} ${startedAt(process.pid)} ${fileIdentity(mine)}\n`)
  try {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      if (tryLink(mine, lock)) return () => rmSync(lock, { force: true })
      const pid = lockHolder(dir)
      if (pid !== null) throw held(dir, pid)
      rmSync(lock, { force: true })
    }
    throw held(dir, lockHolder(dir) ?? 0)
  } finally {
    rmSync(mine, { force: true })
  }
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function held(dir: string, pid: number): AppError {
  return new AppError('unavailable', `Another Longshore (process ${pid}) uses the data directory ${dir}`, {
    details: `Stop it first (kill ${pid}), or give this one another LONGSHORE_HOME.`,
  })
}

/** Reads a secret file, or creates it with `make`; mode 0600. */
export function secretFile(file: string, make: () => string): Secret {
  try {
    writeFileSync(file, `${make()}\n`, { mode: 0o600, flag: 'wx', flush: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  return new Secret(readFileSync(file, 'utf8').trim())
}
