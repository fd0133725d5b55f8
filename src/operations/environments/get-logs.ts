import { getLogs, type LogLine } from '../../contract/app-env-reads.ts'
import { AppError } from '../../errors.ts'
import { listAttemptsOfRun } from '../../store/repositories/job-runs.ts'
import { notFound } from '../core/authorize.ts'
import { handler, type Sources } from '../core/handler.ts'

/** With a job run, returns the lines of its attempts and ignores the requested type. */
export default handler(getLogs, async ({ tx }, input, { environment }) => {
  const { appEnvId: _id, envName: _name, jobRunId, ...query } = input
  const { appEnvId } = environment
  checkFilters(input)
  const answer = { appEnvId, logs: [], cursor: null, truncated: false }
  if (jobRunId === undefined) {
    const afterRead = async (_answer: unknown, { logs }: Sources) => {
      const page = await logs.read(appEnvId, query)
      const sampling = query.type === 'REQUEST' ? { sampling: samplingOf(page.logs) } : {}
      return { appEnvId, ...page, ...sampling }
    }
    return { answer, afterRead }
  }
  const attempts = await listAttemptsOfRun(tx, appEnvId, jobRunId)
  if (attempts === null) throw notFound('job-run')
  const podNames = attempts.map(({ containerName }) => containerName)
  const ofRun = { ...query, type: 'JOB' as const, podNames }
  return {
    answer,
    afterRead: async (_answer, { logs }) => ({ appEnvId, ...(await logs.read(appEnvId, ofRun)) }),
  }
})

const requestFilters = ['status', 'path', 'slowerThanMs'] as const

function checkFilters(
  input: { type: string } & Partial<Record<(typeof requestFilters)[number], unknown>>,
): void {
  const given = requestFilters.filter((name) => input[name] !== undefined)
  if (input.type === 'REQUEST' || given.length === 0) return
  throw new AppError('invalid', 'This filter is for requests only', {
    details: `Set type to REQUEST, or leave out ${given.join(', ')}.`,
  })
}

/** Under load the log holds a sample; each line says how many requests it stands for. */
function samplingOf(lines: readonly LogLine[]) {
  const requests = Math.round(lines.reduce((sum, { request }) => sum + (request?.oneIn ?? 1), 0))
  const rate = requests === 0 ? 1 : Math.round((lines.length / requests) * 10_000) / 10_000
  return { shown: lines.length, requests, rate }
}
