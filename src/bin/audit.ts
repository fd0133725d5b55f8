import { existsSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { type Config, readConfig } from '../config.ts'
import { AppError } from '../errors.ts'
import type { Db } from '../store/db.ts'
import { readMasterKey } from '../store/master-key.ts'
import { openSecretBox, parseMasterKey, type SecretBox } from '../store/secret-box.ts'
import { openSqliteDb } from '../store/sqlite-db.ts'
import { type ChainReport, verifyJournal } from '../store/verify-journal.ts'

const usage = `longshore audit verify [--head <hash>]... [--json]

Follows the chain of hashes of the audit trail of this home, account by account; works while it is served.
  --head <hash>  a head that an earlier run printed: it must still be in a chain, or entries were cut off
  --json         the report for a program
Exit code: 0 the trail is whole, 1 it is not, 2 wrong call.
`

/** `longshore audit verify`: reads the store directly, so that it also finds what the platform would not show. */
export async function runAudit(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const asked = readArguments(argv)
  if (asked === null) {
    const help = argv.includes('--help') || argv.includes('-h')
    const to = help ? process.stdout : process.stderr
    to.write(usage)
    return help ? 0 : 2
  }
  const config = readConfig(env)
  const file = path.join(config.home, 'longshore.db')
  if (!existsSync(file)) {
    throw new AppError('not-found', `There is no installation at ${path.dirname(file)}`, {
      details: 'Set LONGSHORE_HOME to the home of the installation.',
    })
  }
  const db = await openSqliteDb(file)
  try {
    const secrets = await openedSecrets(db, config)
    const report = await db.read((tx) => verifyJournal(tx, asked.heads, secrets))
    const whole = report.missingHeads.length === 0 && report.chains.every(({ broken }) => broken === null)
    process.stdout.write(asked.json ? `${JSON.stringify({ whole, ...report })}\n` : textOf(report, whole))
    return whole ? 0 : 1
  } finally {
    await db.close()
  }
}

/** Opens the sealed heads; null without the master key, and then the ends of the chains are not checked. */
async function openedSecrets(db: Db, config: Config): Promise<SecretBox | null> {
  const file = path.join(config.home, 'master-key')
  try {
    const master = config.masterKey ? parseMasterKey(config.masterKey) : readMasterKey(file)
    return await openSecretBox(db, master, new Date().toISOString())
  } catch {
    process.stderr.write(
      'The master key is not here or does not open this home: whether entries were cut off at the end is NOT checked. Set LONGSHORE_MASTER_KEY, or use --head.\n',
    )
    return null
  }
}

function readArguments(argv: readonly string[]): { heads: string[]; json: boolean } | null {
  if (argv[0] !== 'verify') return null
  try {
    const { values } = parseArgs({
      args: argv.slice(1),
      options: {
        head: { type: 'string', multiple: true, default: [] },
        json: { type: 'boolean', default: false },
      },
    })
    return { heads: values.head, json: values.json }
  } catch {
    return null
  }
}

function textOf(report: { chains: ChainReport[]; missingHeads: string[] }, whole: boolean): string {
  const lines = report.chains.map(({ accountId, entries, head, broken, note }) => {
    const fits = note ? `whole (${note})` : 'whole'
    const state = broken ? `BROKEN at ${broken.entryId}: ${broken.why}` : fits
    return `${accountId ?? '(no account)'}  ${entries} entries  head ${head}  ${state}`
  })
  for (const head of report.missingHeads) lines.push(`MISSING head ${head}: entries were cut off or replaced`)
  lines.push(
    whole
      ? 'The audit trail is whole. Keep the heads elsewhere to notice a cut later.'
      : 'The audit trail is NOT whole.',
  )
  return `${lines.join('\n')}\n`
}
