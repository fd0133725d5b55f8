import { readFileSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Config } from '../config.ts'
import { AppError } from '../errors.ts'

/** A Longshore that runs on this machine, and the token of its first admin. */
export interface LocalInstallation {
  /** Process that serves; alive a moment ago. */
  pid: number
  /** Address of the REST API, as the server wrote it down. */
  url: string
  mcp: string | null
  /** Address where apps and functions answer. */
  gateway: string | null
}

/** What `serve` writes into `<home>/run/serve.json`; it may hold more. */
interface ServeFile {
  pid?: unknown
  /** Start time of that process in clock ticks since boot: tells it from a later one of the same number. */
  started?: unknown
  api?: unknown
  mcp?: unknown
  gateway?: unknown
  home?: unknown
}

/** Finds the installation that runs on this home; null when none does. */
export async function findLocalInstallation(home: string): Promise<LocalInstallation | null> {
  const text = await readFile(path.join(home, 'run', 'serve.json'), 'utf8').catch(absent)
  if (text === null) return null
  const said = parsed(text)
  // A file of a process that is gone, or one just being written, is no installation that runs.
  if (typeof said?.pid !== 'number' || typeof said.api !== 'string' || !isAlive(said.pid, said.started))
    return null
  if (typeof said.home === 'string' && isCopy(home, said.home)) return null
  return {
    pid: said.pid,
    url: said.api,
    mcp: typeof said.mcp === 'string' ? said.mcp : null,
    gateway: typeof said.gateway === 'string' ? said.gateway : null,
  }
}

/** The token that the first start wrote down; null when this home has none. */
export async function readAdminToken(home: string): Promise<string | null> {
  const token = await readFile(path.join(home, 'admin-token'), 'utf8').catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EACCES' && error.code !== 'EPERM') return absent(error)
      throw new AppError('forbidden', 'The token of the local installation cannot be read', {
        details: `${path.join(home, 'admin-token')} belongs to another user. Set LONGSHORE_TOKEN to a token of your own, or pass --user-token to deploy.`,
        cause: error,
      })
    },
  )
  return token?.trim() || null
}

/** Where a client command talks to, and as whom. */
export interface Connection {
  url: string
  token: string
}

/**
 * Address and token for a client command: the given token, LONGSHORE_TOKEN, or the local admin token; the
 * address in LONGSHORE_URL, or the installation that runs on LONGSHORE_HOME.
 */
export async function resolveConnection(config: Config, givenToken?: string): Promise<Connection> {
  const told = givenToken ?? config.token?.reveal()
  if (config.url) {
    // The local token is never sent to another machine.
    if (told) return { url: config.url, token: told }
    throw new AppError('unauthenticated', 'No token was given', {
      details: 'LONGSHORE_URL names a platform: set LONGSHORE_TOKEN, or pass --user-token to deploy.',
    })
  }
  const local = await findLocalInstallation(config.home)
  if (!local) {
    throw new AppError('unavailable', 'No Longshore is running here', {
      details: `Nothing serves ${config.home}. Start one with \`npm start\` (or \`longshore serve\`), or set LONGSHORE_URL to one that runs elsewhere.`,
    })
  }
  const token = told ?? (await readAdminToken(config.home))
  if (token) return { url: local.url, token }
  throw new AppError('unauthenticated', 'No token was given', {
    details: `There is no ${path.join(config.home, 'admin-token')}. Set LONGSHORE_TOKEN, or pass --user-token to deploy.`,
  })
}

/** A copy of a home that is served holds the original's file: commands on the copy must not reach the original. */
function isCopy(home: string, original: string): boolean {
  const [here, there] = [home, original].map((dir) => statSync(dir, { throwIfNoEntry: false }))
  // A home that was moved while it is served has nothing at its old path.
  return here !== undefined && there !== undefined && (here.ino !== there.ino || here.dev !== there.dev)
}

function absent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
  throw error
}

function parsed(text: string): ServeFile | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' ? (value as ServeFile | null) : null
  } catch {
    return null
  }
}

/**
 * Whether a process runs; one that was killed and not reaped yet does not. With `started`, a process that began at
 * another time is not it: numbers are used again, at the latest after a restart of the machine.
 */
export function isAlive(pid: number, started?: unknown): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // EPERM: it is there, and belongs to somebody else.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  const { state, startTicks } = statOf(pid)
  if (state === 'Z' || state === 'X') return false
  return typeof started !== 'string' || started === '' || startTicks === '' || startTicks === started
}

/** State letter and start time of a process; empty where /proc is absent. */
function statOf(pid: number): { state: string; startTicks: string } {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0] ?? '', startTicks: fields[19] ?? '' }
  } catch {
    return { state: '', startTicks: '' }
  }
}
