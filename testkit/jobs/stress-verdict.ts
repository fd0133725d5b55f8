import { isOver, type JobAttempt, type JobRun } from '../../src/domain/jobs/run.ts'
import type { Db } from '../../src/store/db.ts'
import { listJobAttempts, listJobRuns } from '../../src/store/repositories/job-runs.ts'
import { listRuns, type StoredRun } from '../../src/store/repositories/usage.ts'
import type { Witness } from './stress-setup.ts'

/** Most active runs of each environment of the stress test. */
export const activeRunLimit = 3

/** Results of a stress test. The lists contain violations, and are empty if there are none. */
export interface StressVerdict {
  attempts: number
  /** Containers that reported their start. */
  witnessed: number
  byStatus: Record<string, number>
  /** Containers that began more than once, or that belong to no attempt. */
  doubled: string[]
  /** Runs with more attempts than `backoffLimit` + 1, or whose attempts are not numbered 1, 2, 3 … */
  tooMany: string[]
  /** Environments in which more containers ran at once than the limit allows. */
  overLimit: string[]
  /** Runs and attempts that are not over. */
  forgotten: string[]
  /** Runs whose end does not match the exits of their containers. */
  wrong: string[]
  /** Attempts with wrong billing. */
  misbilled: string[]
}

const nothingBroken = { doubled: [], tooMany: [], overLimit: [], forgotten: [], wrong: [], misbilled: [] }

export async function judgeStress(
  db: Db,
  environments: readonly string[],
  witness: Witness,
): Promise<StressVerdict> {
  const verdict: StressVerdict = {
    attempts: 0,
    witnessed: witness.size,
    byStatus: {},
    ...structuredClone(nothingBroken),
  }
  const unknown = new Set(witness.keys())
  for (const appEnvId of environments) {
    const { runs, attempts, billed } = await db.read(async (tx) => ({
      runs: (await listJobRuns(tx, appEnvId, { limit: 1e6, offset: 0 })).runs,
      attempts: await listJobAttempts(tx, appEnvId, 1e6),
      // With `nowMs: 0`, the ends are as stored.
      billed: new Map(
        (await listRuns(tx, appEnvId, { fromMs: 0, nowMs: 0 })).map((run) => [run.container, run]),
      ),
    }))
    verdict.attempts += attempts.length
    for (const { containerName } of attempts) unknown.delete(containerName)
    for (const run of runs) {
      const own = attempts.filter(({ jobRunId }) => jobRunId === run.jobRunId)
      judgeRun(run, own, witness, verdict)
    }
    for (const attempt of attempts) judgeBill(attempt, billed.get(attempt.containerName), verdict)
    const most = mostAtOnce(attempts, witness)
    if (most > activeRunLimit) verdict.overLimit.push(`${appEnvId}: ${most} at once`)
  }
  for (const [name, { begins }] of witness)
    if (begins.length > 1 || unknown.has(name)) verdict.doubled.push(name)
  return verdict
}

function judgeRun(run: JobRun, attempts: JobAttempt[], witness: Witness, verdict: StressVerdict): void {
  const { jobRunId, status, snapshot } = run
  verdict.byStatus[status] = (verdict.byStatus[status] ?? 0) + 1
  if (!isOver(run)) verdict.forgotten.push(jobRunId)
  for (const { state, attemptId } of attempts)
    if (state === 'creating' || state === 'started') verdict.forgotten.push(`${jobRunId} ${attemptId}`)
  const numbers = attempts.map(({ number }) => number).sort((a, b) => a - b)
  const inRow = numbers.every((number, index) => number === index + 1)
  if (run.attempt > snapshot.backoffLimit + 1 || attempts.length !== run.attempt || !inRow)
    verdict.tooMany.push(`${jobRunId}: ${numbers.join()} of ${snapshot.backoffLimit + 1}`)
  const problem = problemOf(run, attempts, witness)
  if (problem) verdict.wrong.push(`${jobRunId} ${status}: ${problem}`)
}

function problemOf({ status, snapshot, attempt, reason }: JobRun, attempts: JobAttempt[], witness: Witness) {
  const work = snapshot.command.slice(snapshot.command.lastIndexOf('say begin; ') + 'say begin; '.length)
  const unseen = attempts.find(({ exitCode, containerName }) => exitCode === 0 && !witness.has(containerName))
  if (unseen) return `${unseen.containerName} succeeded without having run`
  if (attempts.some((one) => one.reason === 'ContainerLost')) return 'a container was taken for lost'
  // Killed with the engine, or stopped: no fault of the command.
  const killed = attempts.some(({ exitCode }) => exitCode === null || exitCode >= 128)
  const fails = work.includes('exit')
  if (status === 'SUCCEEDED' && (fails || work === 'sleep 30')) return `${work} cannot succeed`
  if (status === 'FAILED' && !fails && !killed) return `${work} does not fail`
  if (status === 'FAILED' && attempt <= snapshot.backoffLimit) return `${attempt} attempts are too few`
  if (status === 'TIMED_OUT' && work !== 'sleep 30') return `${work} is not that long (${reason})`
  return null
}

/** Each container is billed exactly as long as its record says that it ran, at its size. */
function judgeBill(attempt: JobAttempt, bill: StoredRun | undefined, verdict: StressVerdict): void {
  const { containerName, startedAt, finishedAt, reason } = attempt
  if (startedAt === null || finishedAt === null) {
    if (bill) verdict.misbilled.push(`${containerName} (${reason}) is billed and never ran`)
    return
  }
  const [from, to] = [Date.parse(startedAt), Date.parse(finishedAt)]
  // It ended while its engine was down and was never seen running, so its times are unknown and it is not billed.
  if (reason === 'Interrupted' && (bill === undefined || bill.startedMs === bill.finishedMs)) return
  if (bill?.startedMs !== from || bill.finishedMs !== to || bill.zClouds !== 1)
    verdict.misbilled.push(
      `${containerName} (${reason}) ran ${from}–${to}, billed ${bill?.startedMs}–${bill?.finishedMs}`,
    )
}

function mostAtOnce(attempts: readonly JobAttempt[], witness: Witness): number {
  const changes: { at: number; change: 1 | -1 }[] = []
  for (const { containerName, finishedAt } of attempts) {
    const seen = witness.get(containerName)
    if (!seen) continue
    // A killed container could not report its end; the engine did.
    const end = seen.ends[0] ?? Date.parse(finishedAt ?? '')
    for (const begin of seen.begins)
      changes.push({ at: begin, change: 1 }, { at: Math.max(begin, end), change: -1 })
  }
  changes.sort((a, b) => a.at - b.at || a.change - b.change)
  let now = 0
  let most = 0
  for (const { change } of changes) {
    now += change
    most = Math.max(most, now)
  }
  return most
}
