import { existsSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { readConfig } from '../config.ts'
import { AppError } from '../errors.ts'
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
    process.stderr.write(usage)
    return 2
  }
  const file = path.join(readConfig(env).home, 'longshore.db')
  if (!existsSync(file)) {
    throw new AppError('not-found', `There is no installation at ${path.dirname(file)}`, {
      details: 'Set LONGSHORE_HOME to the home of the installation.',
    })
  }
  const db = await openSqliteDb(file)
  try {
    const report = await db.read((tx) => verifyJournal(tx, asked.heads))
    const whole = report.missingHeads.length === 0 && report.chains.every(({ broken }) => broken === null)
    process.stdout.write(asked.json ? `${JSON.stringify({ whole, ...report })}\n` : textOf(report, whole))
    return whole ? 0 : 1
  } finally {
    await db.close()
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
  const lines = report.chains.map(({ accountId, entries, head, broken }) => {
    const state = broken ? `BROKEN at ${broken.entryId}: ${broken.why}` : 'whole'
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
