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
import { AppError } from '../errors.ts'
import { Secret } from '../log.ts'
import type { Db } from './db.ts'
import { type Home, secretFile } from './home.ts'
import { opensDataKeys, parseMasterKey, rewrapDataKeys } from './secret-box.ts'

const nextName = (home: Pick<Home, 'masterKey'>) => `${home.masterKey}.new`

/** Makes the master key of a home without one; ends a rotation that was cut off, on whichever side it was. */
export async function makeMasterKey(db: Db, home: Pick<Home, 'masterKey'>): Promise<void> {
  await endRotation(db, home)
  secretFile(home.masterKey, () => randomBytes(32).toString('hex'))
}

/**
 * Keeps the next key when it opens the data keys, else removes it. Under the store's write lock: one whose rotation
 * is still under way must not be taken for one that was cut off.
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

/** Null for one that was cut off while it was written: nothing is sealed with it yet. */
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
 * Puts another master key in the place of the home's. The new one is on disk before the data keys that are wrapped
 * with it, and the old one goes last: at every moment one of the two files opens the home. Of two rotations at once
 * the second fails: `from` opens nothing any more.
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
