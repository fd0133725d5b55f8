import path from 'node:path'
import { type Config, readConfig } from '../../config/config.ts'
import { AppError } from '../../errors.ts'
import type { Db } from '../../store/db.ts'
import { hasStore, openStore } from '../../store/open.ts'
import { readMasterKey } from '../../store/secrets/master-key.ts'
import { openSecretBox, parseMasterKey, type SecretBox } from '../../store/secrets/secret-box.ts'
import { type ChainReport, verifyAudit } from '../../store/verify-audit.ts'

/** `longshore audit verify`: reads the store directly, so that it does not depend on a running platform. */
export async function runAudit(
  options: { heads: string[]; json: boolean },
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const config = readConfig(env)
  const file = path.join(config.home, 'longshore.db')
  if (!hasStore(config, { database: file })) {
    throw new AppError('not-found', `There is no installation at ${path.dirname(file)}`, {
      details: 'Set LONGSHORE_HOME to the data directory of the installation.',
    })
  }
  const db = await openStore(config, { database: file })
  try {
    const secrets = await openedSecrets(db, config)
    const report = await db.read((tx) => verifyAudit(tx, options.heads, secrets))
    const whole = report.missingHeads.length === 0 && report.chains.every(({ broken }) => broken === null)
    process.stdout.write(options.json ? `${JSON.stringify({ whole, ...report })}\n` : textOf(report, whole))
    return whole ? 0 : 1
  } finally {
    await db.close()
  }
}

/** Decrypts the heads of the chains; null without the master key, and then the ends of the chains are not checked. */
async function openedSecrets(db: Db, config: Config): Promise<SecretBox | null> {
  const file = path.join(config.home, 'master-key')
  try {
    const master = config.masterKey ? parseMasterKey(config.masterKey) : readMasterKey(file)
    return await openSecretBox(db, master, new Date().toISOString())
  } catch {
    process.stderr.write(
      'The master key is missing or belongs to another data directory, so truncation at the end of the log is NOT checked. Set LONGSHORE_MASTER_KEY, or use --head.\n',
    )
    return null
  }
}

function textOf(report: { chains: ChainReport[]; missingHeads: string[] }, whole: boolean): string {
  const lines = report.chains.map(({ accountId, entries, head, broken, note }) => {
    const fits = note ? `intact (${note})` : 'intact'
    const state = broken ? `BROKEN at ${broken.entryId}: ${broken.why}` : fits
    return `${accountId ?? '(no account)'}  ${entries} entries  head ${head}  ${state}`
  })
  for (const head of report.missingHeads)
    lines.push(`MISSING head ${head}: entries were truncated or replaced`)
  lines.push(
    whole
      ? 'The audit log is intact. Keep the heads elsewhere: they show later whether entries were cut off.'
      : 'The audit log is NOT intact.',
  )
  return `${lines.join('\n')}\n`
}
