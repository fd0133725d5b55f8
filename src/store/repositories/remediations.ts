import { sql } from 'kysely'
import { z } from 'zod'
import type { CauseState, StoredRemediation } from '../../domain/remediation/remediation.ts'
import type { Tx } from '../db.ts'
import { recordReader } from '../record.ts'

declare module '../db.ts' {
  interface Tables {
    remediations: {
      remediation_id: string
      app_env_id: string
      account_id: string
      alert_id: string | null
      cause: string | null
      mode: string
      record: string
      revision: number
      created_at: string
      /** For a cause: the episode that is open, or the last one. */
      cause_state: string | null
    }
  }
}

const remediationRecord = recordReader<StoredRemediation>(
  'remediations',
  'remediationId',
  z.object({ remediationId: z.string(), appEnvId: z.string(), mode: z.string(), revision: z.number() }),
)
const causeRecord = recordReader<CauseState>(
  'remediations',
  null,
  z.object({ episode: z.number(), isOpen: z.boolean() }),
)

export async function findRemediation(tx: Tx, remediationId: string): Promise<StoredRemediation | null> {
  const row = await tx
    .selectFrom('remediations')
    .select('record')
    .where('remediation_id', '=', remediationId)
    .executeTakeFirst()
  return remediationRecord.one(row)
}

export async function insertRemediation(tx: Tx, remediation: StoredRemediation): Promise<void> {
  const { remediationId, appEnvId, accountId, createdAt } = remediation
  const row = { remediation_id: remediationId, app_env_id: appEnvId, account_id: accountId }
  await tx
    .insertInto('remediations')
    .values({ ...row, created_at: createdAt, cause_state: null, ...columnsOf(remediation) })
    .execute()
}

/** With another trigger, the episodes of the one before are forgotten. */
export async function saveRemediation(
  tx: Tx,
  remediation: StoredRemediation,
  { isOtherTrigger = false } = {},
): Promise<void> {
  await tx
    .updateTable('remediations')
    .set({ ...columnsOf(remediation), ...(isOtherTrigger && { cause_state: null }) })
    .where('remediation_id', '=', remediation.remediationId)
    .execute()
}

function columnsOf(remediation: StoredRemediation) {
  const { trigger, mode, revision } = remediation
  return {
    alert_id: 'alertId' in trigger ? trigger.alertId : null,
    cause: 'cause' in trigger ? trigger.cause : null,
    ...{ mode, revision, record: JSON.stringify(remediation) },
  }
}

export async function deleteRemediation(tx: Tx, remediationId: string): Promise<void> {
  for (const table of ['remediation_runs', 'remediations'] as const)
    await tx.deleteFrom(table).where('remediation_id', '=', remediationId).execute()
}

/** By creation, with the cliEnvName of each environment. */
export async function listRemediations(
  tx: Tx,
  of: { appEnvIds: readonly string[] } | { accountId: string } | { appId: string },
  page: { limit: number; offset: number },
): Promise<{ remediations: { remediation: StoredRemediation; envName: string }[]; total: number }> {
  const joined = tx
    .selectFrom('remediations')
    .innerJoin('app_envs', 'app_envs.app_env_id', 'remediations.app_env_id')
  const query =
    'accountId' in of
      ? joined.where('app_envs.account_id', '=', of.accountId)
      : 'appId' in of
        ? joined.where('app_envs.app_id', '=', of.appId)
        : joined.where('app_envs.app_env_id', 'in', ['', ...of.appEnvIds])
  const count = await query.select((e) => e.fn.countAll<number>().as('total')).executeTakeFirst()
  const rows = await query
    .select(['remediations.record', 'app_envs.cli_env_name'])
    .orderBy('remediations.created_at')
    .orderBy('remediations.remediation_id')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  return {
    remediations: rows.map(({ record, cli_env_name }) => ({
      remediation: remediationRecord.parse(record),
      envName: cli_env_name,
    })),
    total: Number(count?.total ?? 0),
  }
}

/** Those of an alert that are not off. */
export async function listRemediationsOfAlert(tx: Tx, alertId: string): Promise<StoredRemediation[]> {
  const rows = await tx
    .selectFrom('remediations')
    .select('record')
    .where('alert_id', '=', alertId)
    .where('mode', '!=', 'off')
    .orderBy('created_at')
    .execute()
  return remediationRecord.all(rows)
}

/** Those that are not off and whose alert fires, without a run for its episode. */
export async function listTriggered(tx: Tx): Promise<StoredRemediation[]> {
  const rows = await tx
    .selectFrom('remediations')
    .innerJoin('alerts', 'alerts.alert_id', 'remediations.alert_id')
    .innerJoin('alert_states', 'alert_states.alert_id', 'remediations.alert_id')
    .select('remediations.record')
    .where('remediations.mode', '!=', 'off')
    .where('alerts.enabled', '=', 1)
    .where('alert_states.is_open', '=', 1)
    .where('alert_states.state', '=', 'Firing')
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom('remediation_runs')
            .select('run_id')
            .whereRef('remediation_runs.remediation_id', '=', 'remediations.remediation_id')
            .whereRef(
              'remediation_runs.episode',
              '=',
              sql<string>`alert_states.alert_id || '-' || alert_states.episode`,
            ),
        ),
      ),
    )
    .execute()
  return remediationRecord.all(rows)
}

/** Those with a cause that are not off. */
export async function listCauseRemediations(
  tx: Tx,
): Promise<{ remediation: StoredRemediation; state: CauseState | null }[]> {
  const rows = await tx
    .selectFrom('remediations')
    .select(['record', 'cause_state'])
    .where('cause', 'is not', null)
    .where('mode', '!=', 'off')
    .execute()
  return rows.map(({ record, cause_state }) => ({
    remediation: remediationRecord.parse(record),
    state: cause_state === null ? null : causeRecord.parse(cause_state, ''),
  }))
}

export async function findCauseState(tx: Tx, remediationId: string): Promise<CauseState | null> {
  const row = await tx
    .selectFrom('remediations')
    .select('cause_state')
    .where('remediation_id', '=', remediationId)
    .executeTakeFirst()
  return row?.cause_state ? causeRecord.parse(row.cause_state, remediationId) : null
}

export async function saveCauseState(tx: Tx, remediationId: string, state: CauseState): Promise<void> {
  await tx
    .updateTable('remediations')
    .set({ cause_state: JSON.stringify(state) })
    .where('remediation_id', '=', remediationId)
    .execute()
}
