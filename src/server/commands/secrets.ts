import { existsSync, readFileSync } from 'node:fs'
import { readConfig } from '../../config/config.ts'
import { AppError } from '../../errors.ts'
import { lockHolder } from '../../lock-holder.ts'
import { type Home, openHome, requireHome } from '../../store/data-directory.ts'
import type { Db } from '../../store/db.ts'
import { hasStore, openStore } from '../../store/open.ts'
import { nodesWithoutKey } from '../../store/repositories/instances.ts'
import { makeMasterKey, readMasterKey, replaceMasterKey } from '../../store/secrets/master-key.ts'
import { dropUnusedKeys, resealEverything, withdrawKey } from '../../store/secrets/rotate.ts'
import { addDataKey, openSecretBox, parseMasterKey, rewrapDataKeys } from '../../store/secrets/secret-box.ts'

const takenWithinMs = 15_000

export interface SecretsOptions {
  master: boolean
  newMasterKey: string | undefined
}

/** `longshore secrets rotate`: works on the store directly; resolves to the exit code. */
export async function runSecrets(options: SecretsOptions, env: NodeJS.ProcessEnv): Promise<number> {
  const config = readConfig(env)
  requireHome(config.home)
  const home = openHome(config.home)
  if (!hasStore(config, home)) {
    throw new AppError('not-found', `There is no installation at ${config.home}`, {
      details: 'Set LONGSHORE_HOME to the data directory of the installation.',
    })
  }
  const given = config.masterKey ? parseMasterKey(config.masterKey) : null
  checkOptions(options, given !== null)
  const db = await openStore(config, home)
  try {
    if (!given) await makeMasterKey(db, home)
    const master = given ?? readMasterKey(home.masterKey)
    await rotateDataKey(db, home, master)
    await rotateMaster(db, home, master, options)
    return 0
  } finally {
    await db.close()
  }
}

/** Runs before any change. */
function checkOptions({ master, newMasterKey }: SecretsOptions, given: boolean): void {
  if (master && given) {
    throw new AppError('invalid', '--master replaces the master key in the data directory', {
      details:
        'LONGSHORE_MASTER_KEY is set. Give the file with the new key with --new-master-key, and set the variable to the new key afterwards.',
    })
  }
  if (newMasterKey !== undefined && !given) {
    throw new AppError('invalid', '--new-master-key replaces a master key in LONGSHORE_MASTER_KEY', {
      details: 'The master key is in the data directory; replace it with --master.',
    })
  }
  if (newMasterKey !== undefined) readMasterKey(newMasterKey)
}

async function rotateDataKey(db: Db, home: Home, master: Buffer): Promise<void> {
  const at = new Date().toISOString()
  const box = await openSecretBox(db, master, at)
  await box.refresh()
  const [keyId] = await db.write((tx) => addDataKey(tx, master, at))
  await box.refresh()
  say(`New data key ${keyId}.`)
  if (!(await isTaken(db, home, keyId))) {
    await withdrawKey(db, keyId)
    throw new AppError('unavailable', 'A running platform did not load the new key', {
      details:
        'Nothing was changed. It may run with another master key: restart it with the current one, then try again.',
    })
  }
  // Twice: the second pass covers values that were encrypted during the first.
  for (let pass = 1; pass <= 2; pass += 1) {
    let notifiedAtMs = 0
    await resealEverything(db, box, keyId, ({ done, total }) => {
      if (pass > 1 || (done < total && Date.now() - notifiedAtMs < 1_000)) return
      notifiedAtMs = Date.now()
      say(`Encrypted again: ${done} of ${total} objects.`)
    })
  }
  const { dropped, kept } = await dropUnusedKeys(db, keyId)
  say(`Removed ${dropped} old data key${dropped === 1 ? '' : 's'}.`)
  if (kept > 0) say(`${kept} still in use and kept; run this again.`)
}

async function rotateMaster(db: Db, home: Home, master: Buffer, options: SecretsOptions): Promise<void> {
  if (options.master) {
    await replaceMasterKey(db, home, master)
    say(`New master key in ${home.masterKey}. Keep a copy separate from backups of the data directory.`)
  } else if (options.newMasterKey !== undefined) {
    const next = readMasterKey(options.newMasterKey)
    await db.write((tx) => rewrapDataKeys(tx, master, next))
    say('The data keys are encrypted with the new master key. Start the platform with it from now on.')
  }
}

/** Every control plane checks once a second. */
async function isTaken(db: Db, home: Home, keyId: string): Promise<boolean> {
  const isServed = lockHolder(home.dir) !== null
  const isHere = () => existsSync(home.dataKeyFile) && readFileSync(home.dataKeyFile, 'utf8') === keyId
  const isElsewhere = async () => (await db.read((tx) => nodesWithoutKey(tx, keyId))).length === 0
  const untilMs = performance.now() + takenWithinMs
  while (performance.now() < untilMs) {
    if ((!isServed || isHere()) && (await isElsewhere())) return true
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return false
}

function say(text: string): void {
  process.stderr.write(`${text}\n`)
}
