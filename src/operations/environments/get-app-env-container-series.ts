import { timestamp } from '../../clock.ts'
import { getAppEnvContainerSeries } from '../../contract/measurements.ts'
import { containerCounts, desiredAndReady } from '../../domain/environments/container-counts.ts'
import { AppError } from '../../errors.ts'
import { listContainerCounts } from '../../store/repositories/container-counts.ts'
import { listRuns } from '../../store/repositories/usage.ts'
import { handler } from '../core/handler.ts'

const defaultRangeMs = 3_600_000
const mostPoints = 2_500
/** The usage meter keeps the times of each container for this long. */
const keptMs = 35 * 86_400_000

/** Exact, also for the time in which the control plane was down: the engine reports when containers started and ended. */
export default handler(getAppEnvContainerSeries, async ({ tx, now }, input, { environment }) => {
  const nowMs = Date.parse(now)
  const toMs = Math.min(nowMs, input.to === undefined ? nowMs : Date.parse(input.to))
  const wantedMs = input.from === undefined ? toMs - defaultRangeMs : Date.parse(input.from)
  const stepMs = input.step * 1_000
  checkRange(wantedMs, toMs, stepMs, nowMs)
  const fromMs = Math.max(wantedMs, Date.parse(environment.createdAt))
  const runs = await listRuns(tx, environment.appEnvId, { fromMs: fromMs - stepMs, nowMs })
  const window = { fromMs, toMs, stepMs }
  const known = desiredAndReady(
    await listContainerCounts(tx, environment.appEnvId, Math.floor(fromMs / stepMs) * stepMs),
    window,
  )
  const points = containerCounts(runs, window).map(({ tMs, ...counts }, index) => ({
    t: timestamp(tMs),
    ...counts,
    desired: known[index]?.desired ?? null,
    ready: known[index]?.ready ?? null,
  }))
  return { answer: { appEnvId: environment.appEnvId, points } }
})

function checkRange(fromMs: number, toMs: number, stepMs: number, nowMs: number): void {
  if (fromMs >= toMs)
    throw new AppError('invalid', 'from must be before to', {
      details: 'Both are ISO 8601 times in the past.',
    })
  if (fromMs < nowMs - keptMs) {
    throw new AppError('invalid', 'from is more than 35 days ago', {
      details: 'get-app-env-usage has container seconds by hour for longer.',
    })
  }
  const count = Math.ceil((toMs - fromMs) / stepMs)
  if (count > mostPoints) {
    throw new AppError('invalid', `The range has ${count} points`, {
      details: `At most ${mostPoints} are returned. Set step to ${Math.ceil((toMs - fromMs) / mostPoints / 1_000)} or more, or narrow from and to.`,
    })
  }
}
