import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { AppError } from '../../errors.ts'
import { Secret } from '../../log.ts'
import { type Home, secretFile } from '../data-directory.ts'
import type { Db } from '../db.ts'
import { opensDataKeys, parseMasterKey, rewrapDataKeys } from './secret-box.ts'

const nextName = (home: Pick<Home, 'masterKey'>) => `${home.masterKey}.new`

/** Creates the master key of a new data directory, or completes an interrupted rotation in either direction. */
export async function makeMasterKey(db: Db, home: Pick<Home, 'masterKey'>): Promise<void> {
  await endRotation(db, home)
  secretFile(home.masterKey, () => randomBytes(32).toString('hex'))
}

/**
 * Installs the pending key if it opens the data keys, otherwise removes it. Runs under the store's write lock, so
 * that a rotation in progress is not mistaken for an interrupted one.
 */
async function endRotation(db: Db, home: Pick<Home, 'masterKey'>): Promise<void> {
  const next = nextName(home)
  if (!existsSync(next)) return
  await db.write(async (tx) => {
    if (!existsSync(next)) return
    const key = wholeKey(next)
    if (key && (await opensDataKeys(tx, key))) renameSync(next, home.masterKey)
    else rmSync(next)
  })
}

/** Null for a partially written key: nothing is sealed with it yet. */
function wholeKey(file: string): Buffer | null {
  try {
    return readMasterKey(file)
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}

export function readMasterKey(file: string): Buffer {
  return parseMasterKey(new Secret(readFileSync(file, 'utf8').trim()))
}

/**
 * Replaces the master key. The new key is on disk before the data keys are wrapped with it, and the old one is
 * removed last, so that one of the two files always opens the data directory. Of two concurrent rotations the second
 * fails, because `from` no longer opens the data keys.
 */
export async function replaceMasterKey(db: Db, home: Pick<Home, 'masterKey'>, from: Buffer): Promise<void> {
  const to = randomBytes(32)
  await db.write(async (tx) => {
    await rewrapDataKeys(tx, from, to)
    writeWhole(nextName(home), `${to.toString('hex')}\n`)
  })
  await endRotation(db, home)
}

function writeWhole(name: string, text: string): void {
  const file = openSync(name, 'w', 0o600)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
