import { listStateChanges } from '../../alerting/state-history.ts'
import { findAlertStates } from '../../alerting/states.ts'
import { episodeIdOf } from '../../domain/alerts/notification.ts'
import type { Tx } from '../../store/db.ts'
import { listAlertsOfEnvironment } from '../../store/repositories/alerts.ts'
import { listRuns } from '../../store/repositories/remediation-runs.ts'

export interface Episode {
  episodeId: string
  name: string
  startedAt: string
  endedAt: string | null
}

const runsRead = 200

/** The newest episode of each alert, and those with a remediation run, the newest first. */
export async function listEpisodes(tx: Tx, appEnvId: string, now: string): Promise<Episode[]> {
  const found = new Map<string, Episode>()
  const page = { limit: runsRead, offset: 0 }
  const { runs } = await listRuns(tx, { appEnvId, from: '', to: now }, page)
  for (const { episode: episodeId, trigger } of runs) {
    const { name, startedAt, endedAt } = trigger
    found.set(episodeId, { episodeId, name, startedAt, endedAt })
  }
  const alerts = await listAlertsOfEnvironment(tx, appEnvId)
  const states = await findAlertStates(
    tx,
    alerts.map(({ alertId }) => alertId),
  )
  for (const { alertId, name } of alerts) {
    const state = states.get(alertId)
    if (!state || state.progress.episode === 0) continue
    const { episode, isOpen } = state.progress
    const episodeId = episodeIdOf(alertId, episode)
    const times = await timesOf(tx, alertId, isOpen ? state.startedAt : null)
    if (times) found.set(episodeId, { episodeId, name, ...times, endedAt: isOpen ? null : times.endedAt })
  }
  return [...found.values()].sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1))
}

/** When an alert began to fire last, and when it was normal again. */
async function timesOf(tx: Tx, alertId: string, openSince: string | null) {
  let endedAt: string | null = null
  for (const { to, at } of await listStateChanges(tx, alertId)) {
    if (to === 'Firing') return { startedAt: openSince ?? at, endedAt }
    if (to === 'Normal') endedAt = at
  }
  return openSince === null ? null : { startedAt: openSince, endedAt }
}
