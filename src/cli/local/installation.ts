import { statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Config } from '../../config/config.ts'
import { AppError } from '../../errors.ts'
import { isAlive } from '../../process-start.ts'

/** An installation that runs on this machine. */
interface LocalInstallation {
  /** The serving process; it was alive when read. */
  pid: number
  /** Address of the REST API, from the server's file. */
  url: string
  mcp: string | null
  /** Address of the gateway, which serves apps and functions. */
  gateway: string | null
}

/** The fields used from `<home>/run/serve.json`, which `serve` writes. */
interface ServeFile {
  pid?: unknown
  /** Start time of the process in clock ticks since boot; distinguishes it from a later process with the same id. */
  started?: unknown
  api?: unknown
  mcp?: unknown
  gateway?: unknown
  home?: unknown
}

/** Finds the running installation of this data directory; null if there is none. */
export async function findLocalInstallation(home: string): Promise<LocalInstallation | null> {
  const text = await readFile(path.join(home, 'run', 'serve.json'), 'utf8').catch(absent)
  if (text === null) return null
  const facts = parsed(text)
  // The file may be left by an ended process, or incomplete.
  if (typeof facts?.pid !== 'number' || typeof facts.api !== 'string') return null
  const started = typeof facts.started === 'string' ? facts.started : ''
  if (!isAlive({ pid: facts.pid, started })) return null
  if (typeof facts.home === 'string' && isCopy(home, facts.home)) return null
  return {
    pid: facts.pid,
    url: facts.api,
    mcp: typeof facts.mcp === 'string' ? facts.mcp : null,
    gateway: typeof facts.gateway === 'string' ? facts.gateway : null,
  }
}

/** The admin token that the first start saved; null if the data directory has none. */
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

/** Address and token of a client command. */
export interface Connection {
  url: string
  token: string
}

/**
 * Address and token for a client command: the given token, LONGSHORE_TOKEN or the local admin token; the address in
 * LONGSHORE_URL or that of the running installation of LONGSHORE_HOME.
 */
export async function resolveConnection(config: Config, givenToken?: string): Promise<Connection> {
  const chosenToken = givenToken ?? config.token?.reveal()
  if (config.url) {
    // The local token is never sent to another machine.
    if (chosenToken) return { url: config.url, token: chosenToken }
    throw new AppError('unauthenticated', 'No token was given', {
      details: 'LONGSHORE_URL is set. Also set LONGSHORE_TOKEN, or pass --user-token to deploy.',
    })
  }
  const local = await findLocalInstallation(config.home)
  if (!local) {
    throw new AppError('unavailable', 'Longshore is not running here', {
      details: `No platform is running for ${config.home}. Start one with \`npm start\` (or \`longshore serve\`), or set LONGSHORE_URL to one that runs elsewhere.`,
    })
  }
  const token = chosenToken ?? (await readAdminToken(config.home))
  if (token) return { url: local.url, token }
  throw new AppError('unauthenticated', 'No token was given', {
    details: `There is no ${path.join(config.home, 'admin-token')}. Set LONGSHORE_TOKEN, or pass --user-token to deploy.`,
  })
}

/** A copied data directory contains the original's file; commands on the copy must not reach the original platform. */
function isCopy(home: string, original: string): boolean {
  const [here, there] = [home, original].map((dir) => statSync(dir, { throwIfNoEntry: false }))
  // The old path does not exist if the data directory was moved while the platform runs.
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
