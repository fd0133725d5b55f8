import { existsSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { readConfig } from '../config.ts'
import { AppError } from '../errors.ts'
import type { Db } from '../store/db.ts'
import { type Home, openHome, requireHome, servingPid } from '../store/home.ts'
import { makeMasterKey, readMasterKey, replaceMasterKey } from '../store/master-key.ts'
import { dropUnusedKeys, resealEverything } from '../store/rotate-secrets.ts'
import { addDataKey, openSecretBox, parseMasterKey, rewrapDataKeys } from '../store/secret-box.ts'
import { openSqliteDb } from '../store/sqlite-db.ts'

const takenWithinMs = 15_000

const usage = `longshore secrets rotate [options]

Makes a new data key, seals every secret of this home with it again, and forgets the old keys. Works while the
platform serves, without a pause, and may be cut off and begun again at any moment. Nothing that runs is changed.
  --master               puts a new master key in the place of <home>/master-key as well
  --new-master-key <f>   with LONGSHORE_MASTER_KEY set: the file with the new master key (32 bytes as hex or
                         base64); start the platform with it from then on
`

interface Options {
  master: boolean
  newMasterKey: string | undefined
}

/** `longshore secrets rotate`: works on the store directly; resolves to the exit code. */
export async function runSecrets(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const options = readArguments(argv)
  if (options === null) {
    const asked = argv[0] === '--help' || argv[0] === '-h'
    const to = asked ? process.stdout : process.stderr
    to.write(usage)
    return asked ? 0 : 2
  }
  const config = readConfig(env)
  requireHome(config.home)
  const home = openHome(config.home)
  if (!existsSync(home.database)) {
    throw new AppError('not-found', `There is no installation at ${config.home}`, {
      details: 'Set LONGSHORE_HOME to the home of the installation.',
    })
  }
  const given = config.masterKey ? parseMasterKey(config.masterKey) : null
  checkOptions(options, given !== null)
  const db = await openSqliteDb(home.database)
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

function readArguments(argv: readonly string[]): Options | null {
  if (argv[0] !== 'rotate') return null
  const { values } = parseArgs({
    args: argv.slice(1),
    options: {
      master: { type: 'boolean', default: false },
      'new-master-key': { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  return values.help ? null : { master: values.master, newMasterKey: values['new-master-key'] }
}

/** Looked at before anything is changed. */
function checkOptions({ master, newMasterKey }: Options, given: boolean): void {
  if (master && given) {
    throw new AppError('invalid', '--master is for the master key in the home', {
      details:
        'LONGSHORE_MASTER_KEY is set: give the file with the new key by --new-master-key, and set the variable to it afterwards.',
    })
  }
  if (newMasterKey !== undefined && !given) {
    throw new AppError('invalid', '--new-master-key is for a master key in LONGSHORE_MASTER_KEY', {
      details: 'The master key of this home is in the home: --master puts a new one there.',
    })
  }
  if (newMasterKey !== undefined) readMasterKey(newMasterKey)
}

async function rotateDataKey(db: Db, home: Home, master: Buffer): Promise<void> {
  const at = new Date().toISOString()
  const box = await openSecretBox(db, master, at)
  const before = await box.refresh()
  const [keyId] = await db.write((tx) => addDataKey(tx, master, at))
  await box.refresh()
  say(`New data key ${keyId}.`)
  if (servingPid(home.dir) !== null && !(await isTaken(home, keyId))) {
    await dropUnusedKeys(db, before)
    throw new AppError('unavailable', 'The platform that serves this home did not take the new key', {
      details:
        'Nothing was changed. It may run with another master key: restart it with the present one, then try again.',
    })
  }
  // Twice: the second time takes what was sealed while the first one went on.
  for (let pass = 1; pass <= 2; pass += 1) {
    let toldAtMs = 0
    await resealEverything(db, box, keyId, ({ done, total }) => {
      if (pass > 1 || (done < total && Date.now() - toldAtMs < 1_000)) return
      toldAtMs = Date.now()
      say(`Sealed again: ${done} of ${total} objects.`)
    })
  }
  const { dropped, kept } = await dropUnusedKeys(db, keyId)
  say(`Forgot ${dropped} old data key${dropped === 1 ? '' : 's'}.`)
  if (kept > 0) say(`${kept} still hold values and stay; run this again.`)
}

async function rotateMaster(db: Db, home: Home, master: Buffer, options: Options): Promise<void> {
  if (options.master) {
    await replaceMasterKey(db, home, master)
    say(`New master key in ${home.masterKey}. Keep a copy apart from the home's backups.`)
  } else if (options.newMasterKey !== undefined) {
    const next = readMasterKey(options.newMasterKey)
    await db.write((tx) => rewrapDataKeys(tx, master, next))
    say('The data keys are wrapped with the new master key: start the platform with it from now on.')
  }
}

/** The control plane looks once a second. */
async function isTaken(home: Home, keyId: string): Promise<boolean> {
  const untilMs = performance.now() + takenWithinMs
  while (performance.now() < untilMs) {
    if (existsSync(home.dataKeyFile) && readFileSync(home.dataKeyFile, 'utf8') === keyId) return true
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return false
}

function say(text: string): void {
  process.stderr.write(`${text}\n`)
}
