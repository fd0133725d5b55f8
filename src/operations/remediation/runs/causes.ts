import type { CauseState, StoredRemediation } from '../../../domain/remediation/remediation.ts'
import { newRun } from '../../../domain/remediation/remediation.ts'
import type { Tx } from '../../../store/db.ts'
import { endEpisode, insertRun, listOpenRuns, saveRun } from '../../../store/repositories/remediation-runs.ts'
import { findCauseState, findRemediation, saveCauseState } from '../../../store/repositories/remediations.ts'
import type { Diagnosis } from './seen.ts'

/** How long a cause must be gone before its episode ends, before the clock scale. */
const calmMs = 60_000

/** Stores what one diagnosis says about the cause of a remediation, and begins the run of a new episode. */
export async function noteDiagnosis(
  tx: Tx,
  remediationId: string,
  diagnosis: Diagnosis,
  { now, clockScale }: { now: string; clockScale: number },
): Promise<void> {
  const remediation = await findRemediation(tx, remediationId)
  if (!remediation || !('cause' in remediation.trigger) || remediation.mode === 'off') return
  const before = await findCauseState(tx, remediationId)
  const after = nextState(remediation.trigger.cause, before, diagnosis, { now, calmMs: calmMs / clockScale })
  if (after === null) return
  await saveCauseState(tx, remediationId, after)
  const episode = `${remediationId}-${after.episode}`
  if (after.isOpen) await begin(tx, remediation, after, episode, now)
  else if (before?.isOpen) await endEpisode(tx, episode, now)
  await countHealthy(tx, remediationId, after, now)
}

/** Null: the diagnosis says nothing about it. Only evidence begins an episode, and missing facts never end one. */
function nextState(
  cause: string,
  before: CauseState | null,
  { findings, checked }: Diagnosis,
  { now, calmMs }: { now: string; calmMs: number },
): CauseState | null {
  const finding = findings.find((one) => one.cause === cause && one.evidence.length > 0)
  if (finding) {
    if (before?.isOpen)
      return {
        ...before,
        seen: before.seen + 1,
        absent: 0,
        absentSince: null,
        checked: [...checked],
        seenAt: now,
      }
    const startedAt = finding.since !== null && finding.since < now ? finding.since : now
    const fresh = {
      isOpen: true,
      startedAt,
      checked: [...checked],
      seen: 1,
      absent: 0,
      absentSince: null,
      seenAt: now,
    }
    return { episode: (before?.episode ?? 0) + 1, ...fresh }
  }
  if (!before) return null
  if (!before.checked.every((fact) => (checked as readonly string[]).includes(fact))) return null
  const absentSince = before.absentSince ?? now
  const isOpen = before.isOpen && Date.parse(now) - Date.parse(absentSince) < calmMs
  return { ...before, absent: before.absent + 1, absentSince, isOpen, seenAt: now }
}

async function begin(
  tx: Tx,
  remediation: StoredRemediation,
  { startedAt }: CauseState,
  episode: string,
  now: string,
): Promise<void> {
  const name = 'cause' in remediation.trigger ? remediation.trigger.cause : ''
  await insertRun(tx, newRun(remediation, { episode, name, startedAt, condition: null }, now))
}

/** The diagnoses that a run needs to be verified. */
async function countHealthy(tx: Tx, remediationId: string, state: CauseState, now: string): Promise<void> {
  for (const run of await listOpenRuns(tx, { remediationId })) {
    if (run.verifyFrom === null || run.verifyFrom >= now) continue
    await saveRun(tx, { ...run, healthy: state.absent === 0 ? 0 : run.healthy + 1 })
  }
}
