import { beforeAll, describe, expect, it } from 'vitest'
import { getAppEnvPods, getLogs } from '../../src/contract/app-env-reads.ts'
import { createAppEnv } from '../../src/contract/app-envs.ts'
import { createApp } from '../../src/contract/apps.ts'
import { getJobRun, type JobRunResponse, startJobRun } from '../../src/contract/jobs.ts'
import { getAppEnvUsage } from '../../src/contract/measurements.ts'
import type { RawInputOf } from '../../src/contract/operation.ts'
import { deploy, untilDeployed } from '../platform/deploy.ts'
import type { Place } from '../platform/function-lifecycle-suite.ts'
import { untilRead } from '../until.ts'

/** Job runs in a region, of an installation whose back-off is so fast that no test waits for it. */
export function describeJobs({ installation, region, base }: Place): void {
  describe('jobs', () => {
    let appEnvId = ''

    const start = async (input: Omit<RawInputOf<typeof startJobRun>, 'appEnvId'> = {}) =>
      (await installation.client().call(startJobRun, { appEnvId, ...input })).jobRun.jobRunId
    const read = async (jobRunId: string): Promise<JobRunResponse> =>
      (await installation.client().call(getJobRun, { jobRunId })).jobRun
    const ended = (jobRunId: string) =>
      untilRead(
        () => read(jobRunId),
        (run) => run.finishedAt !== null,
        'an ended run',
      )
    const running = (jobRunId: string) =>
      untilRead(
        () => read(jobRunId),
        (run) => run.status === 'RUNNING',
        'a running run',
      )
    const pods = async () => (await installation.client().call(getAppEnvPods, { appEnvId })).pods
    /** A slow engine sends the last lines after the end of the container. */
    const untilSaid = async (search: string) =>
      (
        await untilRead(
          () => installation.client().call(getLogs, { appEnvId, type: 'JOB', search }),
          ({ logs }) => logs.length > 0,
          `the line ${search}`,
        )
      ).logs

    beforeAll(async () => {
      const client = installation.client()
      const { accountId } = installation.ready
      const app = { name: 'jobs', accountId, dockerPreset: 'JOB' as const }
      const { appId } = await client.call(createApp, {
        ...app,
        jobConfig: { command: 'node job.js', timeoutSeconds: 60 },
      })
      const environment = { accountId, appId, name: 'prod', region }
      const envVars = [{ name: 'SECRET', value: 'kept dark', type: 'DEPLOY' as const }]
      ;({ appEnvId } = await client.call(createAppEnv, { ...environment, envVars }))
      await deploy(installation, appEnvId, {
        Dockerfile: `FROM ${base}\nWORKDIR /app\nCOPY job.js .\n`,
        'job.js':
          'console.log("job " + (process.env.SECRET ?? "").length + " " + process.argv.slice(2).join())\n',
      })
      const status = await untilDeployed(installation, appEnvId)
      expect(status.currentDeployment).toMatchObject({ status: 'DEPLOYED', failure: null })
      expect(status.status).toBe('RUNNING')
    })

    it('runs the command of the app in the image that was built, with variables, output and exit code', async () => {
      const jobRunId = await start({ command: 'node job.js "$1" && exit 5', args: ['a b; c'] })
      expect(await ended(jobRunId)).toMatchObject({ status: 'FAILED', exitCode: 5, attempt: 1 })
      expect(await untilSaid('a b; c')).toMatchObject([{ message: 'job 9 a b; c', type: 'JOB' }])
      expect(await ended(await start())).toMatchObject({ status: 'SUCCEEDED', exitCode: 0 })
    })

    it('goes on through a kill -9 of the platform, in the same container', async () => {
      const jobRunId = await start({ command: 'echo before; sleep 10; echo after', backoffLimit: 2 })
      await running(jobRunId)
      await installation.end('SIGKILL')
      await installation.start()
      expect(await ended(jobRunId)).toMatchObject({ status: 'SUCCEEDED', attempt: 1, exitCode: 0 })
      expect(await untilSaid('after')).toHaveLength(1)
      expect(await untilSaid('before')).toHaveLength(1)
    })

    it('is billed to the second for what ended while the platform was dead', async () => {
      const jobRunId = await start({ command: 'sleep 10' })
      await running(jobRunId)
      await installation.end('SIGKILL')
      // The platform is down: wait until the container must have exited.
      await new Promise((resolve) => setTimeout(resolve, 11_500))
      await installation.start()
      expect(await ended(jobRunId)).toMatchObject({ status: 'SUCCEEDED', attempt: 1 })
      const second = (iso: string | null) => Math.floor(Date.parse(iso!) / 1_000)
      const lived = (await pods()).map((pod) => second(pod.finishedAt) - second(pod.startedAt))
      const usage = await installation.client().call(getAppEnvUsage, { appEnvId })
      expect(usage.containerSeconds).toBe(lived.reduce((sum, seconds) => sum + seconds, 0))
    })
  })
}
