import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { listJobAttempts } from '../../../../src/store/repositories/job-runs.ts'
import { TestClock } from '../../../../testkit/fakes/clock.ts'
import { FakeEngine } from '../../../../testkit/fakes/engine.ts'
import { TestPlatform } from '../../../../testkit/platform/test-platform.ts'

/** Job runs are billed from start to end of each container, at the size of their run (docs/interface.md#billing). */
describe('usage of job runs', () => {
  let clock: TestClock
  let platform: TestPlatform
  let appEnvId = ''

  beforeEach(async () => {
    clock = new TestClock()
    platform = await TestPlatform.start({ clock, engine: new FakeEngine({ clock }) })
    const environment = await platform.makeEnvironment({
      app: { dockerPreset: 'JOB', useImage: true },
      environment: {
        zClouds: 2,
        jobConfig: { command: 'sleep 90', allowConcurrentRuns: true, ttlSecondsAfterFinished: 600 },
      },
    })
    appEnvId = environment.appEnvId
    await ask('POST', '/app-env/deploy-image', { image: 'team/job:1' })
    await passing(async () => (await ask('GET', '/app-env/status')).status === 'RUNNING')
  })
  afterEach(() => platform.close())

  async function ask(method: string, path: string, input: Record<string, unknown> = {}) {
    const { token } = platform.admin
    const answer = await platform.request(method, path, { token, input: { appEnvId, ...input } })
    expect(answer.status, answer.text).toBe(200)
    return answer.json
  }

  const start = async (input: Record<string, unknown> = {}): Promise<string> =>
    (await ask('POST', '/app-env/job-run', input)).jobRun.jobRunId
  const run = async (jobRunId: string) =>
    (await platform.request('GET', '/job-run', { token: platform.admin.token, input: { jobRunId } })).json
      .jobRun
  const ended = (jobRunId: string) => passing(async () => (await run(jobRunId)).finishedAt !== null)
  const began = (jobRunId: string) => passing(async () => (await run(jobRunId)).status === 'RUNNING')
  const usage = async () => {
    const { containerSeconds, zCloudSeconds, billedZCloudSeconds } = await ask('GET', '/app-env/usage')
    return { containerSeconds, zCloudSeconds, billedZCloudSeconds }
  }

  /** Lets time pass, a second at a time, until something holds. */
  async function passing(holds: () => Promise<boolean>): Promise<void> {
    for (let second = 0; second < 2_000; second += 1) {
      if (await holds()) return
      await clock.advance(1_000)
    }
    throw new Error('it did not come about in 2,000 seconds')
  }

  /** What the attempts' own records say, second by second as usage counts them. */
  async function lived(): Promise<{ seconds: number; zCloudSeconds: number }> {
    const attempts = await platform.db.read((tx) => listJobAttempts(tx, appEnvId, 100))
    const lives = attempts.map(({ startedAt, finishedAt, cpuMillicores }) => {
      const seconds = Math.floor(Date.parse(finishedAt!) / 1000) - Math.floor(Date.parse(startedAt!) / 1000)
      return { seconds, zCloudSeconds: (seconds * cpuMillicores) / 500 }
    })
    const sum = (of: 'seconds' | 'zCloudSeconds') => lives.reduce((total, life) => total + life[of], 0)
    return { seconds: sum('seconds'), zCloudSeconds: sum('zCloudSeconds') }
  }

  it('bills a run at the zClouds it was started with, whatever the environment has by then', async () => {
    // Its second attempt begins when the environment is larger already.
    const small = await start({ command: 'sleep 90 && exit 1', backoffLimit: 1 })
    await began(small)
    await ask('PUT', '/app-env', { zClouds: 8 })
    await ask('POST', '/app-env/apply-changes')
    await passing(async () => (await ask('GET', '/app-env/status')).status === 'RUNNING')
    await ended(small)
    expect(await usage()).toEqual({ containerSeconds: 180, zCloudSeconds: 360, billedZCloudSeconds: 360 })
    await ended(await start({ command: 'sleep 10' }))
    expect(await usage()).toEqual({ containerSeconds: 190, zCloudSeconds: 440, billedZCloudSeconds: 440 })
  })

  it('bills each attempt, and nothing for the waits between them', async () => {
    const jobRunId = await start({ command: 'sleep 7 && exit 1', backoffLimit: 2 })
    await ended(jobRunId)
    expect(await run(jobRunId)).toMatchObject({ status: 'FAILED', attempt: 3 })
    expect(await usage()).toEqual({ containerSeconds: 21, zCloudSeconds: 42, billedZCloudSeconds: 42 })
  })

  it('bills to its end also what ended while no control plane ran, and what is canceled', async () => {
    const long = await start({ command: 'sleep 300' })
    const short = await start({ command: 'sleep 40' })
    await began(long)
    await began(short)
    await platform.restart(() => clock.advance(60_000))
    await passing(async () => (await run(short)).status === 'SUCCEEDED')
    await platform.request('POST', '/job-run/cancel', {
      token: platform.admin.token,
      input: { jobRunId: long },
    })
    await passing(async () => platform.engine.running().length === 0)
    await passing(async () => (await lived()).seconds > 0)
    const { seconds, zCloudSeconds } = await lived()
    expect(seconds).toBeGreaterThanOrEqual(100)
    expect(await usage()).toEqual({
      containerSeconds: seconds,
      zCloudSeconds,
      billedZCloudSeconds: zCloudSeconds,
    })
    await clock.advance(700_000)
    // The pass that removes them may still be on its way.
    await expect.poll(() => platform.engine.host.containers.size).toBe(0)
    expect((await usage()).containerSeconds, 'not again after the container is removed').toBe(seconds)
  })

  it('bills a run whose container somebody removed as soon as it had ended', async () => {
    const jobRunId = await start({ command: 'sleep 30' })
    await ended(jobRunId)
    const attempts = await platform.db.read((tx) => listJobAttempts(tx, appEnvId, 1))
    platform.engine.host.containers.delete(attempts[0]!.containerName)
    await clock.advance(10_000)
    expect((await usage()).containerSeconds).toBe(30)
  })
})
