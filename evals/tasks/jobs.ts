import { type Task, unless } from '../task.ts'
import type { EvalWorld } from '../world.ts'

async function job(world: EvalWorld, jobConfig: Record<string, unknown>) {
  const made = await world.app('report', {
    dockerPreset: 'JOB',
    port: undefined,
    healthCheck: undefined,
    jobConfig,
  })
  await world.deploy(made.appEnvId, 'console.log("unused")')
  return { ...made }
}

const newest = async (world: EvalWorld, appEnvId: string | undefined) =>
  (await world.rest('list-job-runs', { appEnvId, limit: 1 })).jobRuns[0]

/** Runs of jobs and their settings. */
export const jobTasks: Task[] = [
  {
    id: 'run-job',
    writes: ['start-job-run'],
    setup: (world) => job(world, { command: `exit ${3 + world.word().length}` }),
    prompt: ({ envName }) => `Run ${envName} once and tell me its exit code.`,
    async script(call, { envName }) {
      const failed = await call('start-job-run', { envName }).catch((error: Error) => ({
        text: error.message,
      }))
      return failed.text
    },
    async problem(world, { appEnvId }, answer) {
      const { exitCode, finishedAt } = await newest(world, appEnvId)
      return unless(finishedAt !== null && answer.includes(String(exitCode)), `the exit code is ${exitCode}`)
    },
  },
  {
    id: 'repair-job-command',
    writes: ['update-job-config', 'start-job-run', 'apply-app-env-changes'],
    setup: (world) => job(world, { command: 'nod report.js' }),
    prompt: ({ envName }) =>
      `The runs of ${envName} fail because of a typing error in the command: it should be "node server.js". Correct it for good and prove it with a run.`,
    async script(call, { envName }) {
      await call('update-job-config', { envName, command: 'node server.js', applyImmediately: true })
      await call('start-job-run', { envName })
      return 'Repaired.'
    },
    async problem(world, { appEnvId }) {
      const run = await newest(world, appEnvId)
      return unless(
        run?.status === 'SUCCEEDED' && run.snapshot.command === 'node server.js',
        'no run succeeded',
      )
    },
  },
  {
    id: 'cancel-run',
    writes: ['cancel-job-run'],
    setup: async (world) => {
      const made = await job(world, { command: 'sleep 600' })
      await world.rest('start-job-run', { appEnvId: made.appEnvId })
      return made
    },
    prompt: ({ envName }) => `A run of ${envName} hangs. Cancel it.`,
    async script(call, { envName }) {
      const { jobRuns } = await call('list-job-runs', { envName })
      const { jobRunId } = jobRuns[0]
      await call('cancel-job-run', { jobRunId, confirm: jobRunId })
      return 'Canceled.'
    },
    problem: async (world, { appEnvId }) =>
      unless((await newest(world, appEnvId)).status === 'CANCELED', 'the run is not canceled'),
  },
  {
    id: 'job-deadline',
    writes: ['update-job-config', 'apply-app-env-changes'],
    setup: (world) => job(world, { command: 'true', timeoutSeconds: 1_800 }),
    prompt: ({ envName }) =>
      `Runs of ${envName} may take two minutes at most. Save that; it need not be applied now.`,
    async script(call, { envName }) {
      await call('update-job-config', { envName, timeoutSeconds: 120 })
      return 'Saved.'
    },
    problem: async (world, named) =>
      unless((await world.env(named)).jobConfig.timeoutSeconds === 120, 'the deadline is not 120 s'),
  },
]
