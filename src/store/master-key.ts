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
import { Secret } from '../log.ts'
import type { Db } from './db.ts'
import { type Home, secretFile } from './home.ts'
import { opensDataKeys, parseMasterKey, rewrapDataKeys } from './secret-box.ts'

const nextName = (home: Pick<Home, 'masterKey'>) => `${home.masterKey}.new`

/** Makes the master key of a home without one; ends a rotation that was cut off, on whichever side it was. */
export async function makeMasterKey(db: Db, home: Home): Promise<void> {
  const next = nextName(home)
  if (existsSync(next)) {
    const key = readMasterKey(next)
    if (await db.read((tx) => opensDataKeys(tx, key))) renameSync(next, home.masterKey)
    else rmSync(next)
  }
  secretFile(home.masterKey, () => randomBytes(32).toString('hex'))
}

export function readMasterKey(file: string): Buffer {
  return parseMasterKey(new Secret(readFileSync(file, 'utf8').trim()))
}

/**
 * Puts another master key in the place of the home's. The new one is on disk before a data key is wrapped with it,
 * and the old one goes last: at every moment one of the two files opens the home.
 */
export async function replaceMasterKey(db: Db, home: Home, from: Buffer): Promise<void> {
  const to = randomBytes(32)
  const next = nextName(home)
  const file = openSync(next, 'w', 0o600)
  writeSync(file, `${to.toString('hex')}\n`)
  fsyncSync(file)
  closeSync(file)
  await db.write((tx) => rewrapDataKeys(tx, from, to))
  renameSync(next, home.masterKey)
}
