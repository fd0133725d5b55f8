import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { availableEngines } from '../../../testkit/engines/available-engines.ts'
import { type Agent, openAgent } from '../../../testkit/mcp/tools-over-http.ts'
import { tgz } from '../../../testkit/platform/deploy.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { untilRead } from '../../../testkit/until.ts'

const run = promisify(execFile)
const program = (version: number) =>
  `console.log("v${version} " + process.argv.slice(2).join("+") + " " + process.cwd().split("/").at(-1) + " " + process.env.COLOR)\n`

// Back-off and retention run 100 times faster: the first retry comes after 0.1 s, 300 s of retention are 3 s.
const clockScale = '100'

for (const { engine, base } of await availableEngines()) {
  describe(`the scenario of a job, through tools alone, on the ${engine} engine`, () => {
    const installation = new Installation({ LONGSHORE_ENGINE: engine, LONGSHORE_CLOCK_SCALE: clockScale })
    let agent: Agent
    let appEnvId = ''

    const does = (name: string, args: Record<string, unknown> = {}) => agent.does(name, { appEnvId, ...args })
    const start = (args: Record<string, unknown> = {}) => agent.says('start-job-run', { appEnvId, ...args })
    const read = async (jobRunId: string) => (await agent.does('get-job-run', { jobRunId })).jobRun
    const pods = async () => (await does('get-app-env-pods')).pods
    const podsOf = async (jobRunId: string) =>
      (await pods()).filter(({ name }: { name: string }) => name.includes(jobRunId.slice('run_'.length)))
    const lines = async (search: string): Promise<string[]> =>
      (await does('get-logs', { type: 'JOB', search })).logs.map(
        ({ message }: { message: string }) => message,
      )

    async function deploy(version: number): Promise<Record<string, unknown>> {
      const { uploadUrl, storageKey } = await does('request-deploy-storage-key')
      const Dockerfile = `FROM ${base}\nWORKDIR /app\nCOPY job.js .\n`
      const archive = await tgz({ Dockerfile, 'job.js': program(version) })
      expect((await fetch(uploadUrl, { method: 'PUT', body: new Uint8Array(archive) })).status).toBe(200)
      return does('notify-code-upload', { storageKey })
    }

    beforeAll(async () => {
      const { mcp } = await installation.start()
      agent = await openAgent(mcp, installation.token)
      const { accounts } = await agent.does('list-accounts')
      const { accountId } = accounts[0]
      const { appId } = await agent.does('create-app', {
        name: `nightly ${engine}`,
        accountId,
        dockerPreset: 'JOB',
        jobConfig: { command: 'node job.js "$@"', args: ['from', 'app'], timeoutSeconds: 60 },
      })
      ;({ appEnvId } = await agent.does('create-app-env', {
        ...{ accountId, appId, name: 'prod', region: 'local', zClouds: 2 },
        envVars: [{ name: 'COLOR', value: 'teal', type: 'DEPLOY', isSecret: false }],
      }))
    })
    afterAll(async () => {
      await agent.close()
      await installation.dispose()
    })

    it('refuses a run before anything is deployed, then deploys source and waits for it', async () => {
      const early = await start()
      expect(early.isError).toBe(true)
      expect(early.text).toContain('Nothing is deployed yet')
      expect(await deploy(1)).toMatchObject({
        appEnv: { status: 'RUNNING' },
        deployment: { status: 'DEPLOYED', version: 1 },
      })
      expect(await pods(), 'a job has no container that runs on').toEqual([])
    })

    it('runs what the app says, waits for its end, and shows exit code, layers and output', async () => {
      const said = await start()
      expect(said.isError, said.text).toBe(false)
      const { jobRun } = said.structured as { jobRun: Record<string, unknown> }
      expect(jobRun).toMatchObject({ status: 'SUCCEEDED', attempt: 1, exitCode: 0, reason: 'Completed' })
      expect(await lines('v1 from+app app teal')).toHaveLength(1)
      const { snapshotFrom } = await agent.does('get-job-run', { jobRunId: jobRun.jobRunId })
      expect(snapshotFrom).toMatchObject({ command: 'app', timeoutSeconds: 'app', shell: 'platform' })
    })

    it('E4 keeps changes pending until they are applied, and takes them back with clear', async () => {
      await does('update-job-config', { args: ['from', 'env'], workingDir: '/app/sub' })
      const { effectiveJobConfig } = await does('get-app-env')
      expect(effectiveJobConfig.args).toEqual({
        value: ['from', 'app'],
        from: 'app',
        pending: { value: ['from', 'env'], from: 'environment' },
      })
      const before = await start({ command: 'echo "$1" "$2" pending' })
      expect(before.structured.jobRun).toMatchObject({
        snapshot: { args: ['from', 'app'], workingDir: null },
      })
      await does('apply-app-env-changes')
      const after = await start({ command: 'node ../job.js "$@"' })
      expect(after.structured.jobRun).toMatchObject({
        status: 'SUCCEEDED',
        snapshot: { args: ['from', 'env'], workingDir: '/app/sub' },
      })
      expect(await lines('v1 from+env sub teal')).toHaveLength(1)
      await does('update-job-config', { clear: ['args', 'workingDir'], applyImmediately: true })
      expect((await does('get-app-env')).effectiveJobConfig).toMatchObject({
        args: { value: ['from', 'app'], from: 'app' },
        workingDir: { value: null, from: 'platform' },
      })
    })

    it('overrides hold for one run only; without a shell the words stay as they are', async () => {
      const own = { command: 'node', args: ['job.js', '$COLOR; exit 9'], shell: false }
      expect((await start(own)).structured.jobRun).toMatchObject({ status: 'SUCCEEDED', exitCode: 0 })
      expect(await lines('v1 $COLOR; exit 9 app')).toHaveLength(1)
      expect((await does('get-app-env')).jobConfig).toEqual({})
      expect((await start()).structured.jobRun).toMatchObject({ snapshot: { args: ['from', 'app'] } })
    })

    it('tries a failing run again after 10, 20 … s, each time in one container, and shows the end of its log', async () => {
      const failing = await start({ command: 'echo try $HOSTNAME; exit 3', backoffLimit: 2 })
      expect(failing.isError).toBe(true)
      expect(failing.text).toContain('is FAILED after 3 attempts: exit code 3')
      expect(failing.text).toContain('try ')
      const { jobRun } = failing.structured as { jobRun: { jobRunId: string } }
      expect(jobRun).toMatchObject({ status: 'FAILED', attempt: 3, exitCode: 3 })
      const own = await podsOf(jobRun.jobRunId)
      expect(own.map(({ status }: { status: string }) => status)).toEqual(['Failed', 'Failed', 'Failed'])
      const from = own.map(({ startedAt }: { startedAt: string }) => Date.parse(startedAt)).sort()
      const to = own.map(({ finishedAt }: { finishedAt: string }) => Date.parse(finishedAt)).sort()
      expect(from[1] - to[0], '10 s at 100 times the speed').toBeGreaterThanOrEqual(95)
      expect(from[2] - to[1], '20 s at 100 times the speed').toBeGreaterThanOrEqual(195)
      expect(await lines('try')).toHaveLength(3)
    })

    it('refuses a second run while one is active, cancels it, and runs several at once when the job allows it', async () => {
      const long = { command: 'echo begun; sleep 300', wait: false }
      const { jobRunId } = ((await start(long)).structured as { jobRun: { jobRunId: string } }).jobRun
      await untilRead(
        () => read(jobRunId),
        ({ status }) => status === 'RUNNING',
        'a running run',
      )
      const second = await start(long)
      expect([second.isError, second.text.includes('Limit of active runs reached')]).toEqual([true, true])
      await does('update-job-config', { maxConcurrency: 2, applyImmediately: true })
      const beside = ((await start(long)).structured as { jobRun: { jobRunId: string } }).jobRun
      expect((await start(long)).text).toContain('2 of at most 2 runs are active')
      for (const id of [jobRunId, beside.jobRunId]) {
        const { jobRun } = await agent.does('cancel-job-run', { jobRunId: id, confirm: id })
        expect(jobRun).toMatchObject({ status: 'CANCELED', exitCode: null })
      }
      await untilRead(
        pods,
        (all) => all.every(({ status }: { status: string }) => status !== 'Running' && status !== 'Pending'),
        'no running container',
      )
      const { jobRuns } = await does('list-job-runs', { limit: 2 })
      expect(jobRuns.map((one: { jobRunId: string }) => one.jobRunId)).toEqual([beside.jobRunId, jobRunId])
    })

    it('ends a run at its deadline, and tries no more', async () => {
      const late = await start({ command: 'sleep 300', timeoutSeconds: 1, backoffLimit: 5 })
      expect(late.isError).toBe(true)
      expect(late.structured.jobRun).toMatchObject({ status: 'TIMED_OUT', attempt: 1, exitCode: null })
    })

    it('keeps snapshot, content and lines of a run after a new version and after its container is gone', async () => {
      await does('update-job-config', { ttlSecondsAfterFinished: 300, applyImmediately: true })
      const old = ((await start({ args: ['old', 'run'] })).structured as { jobRun: Record<string, unknown> })
        .jobRun
      const [{ name }] = await podsOf(String(old.jobRunId))
      await deploy(2)
      const fresh = ((await start()).structured as { jobRun: { snapshot: Record<string, unknown> } }).jobRun
      expect(await lines('v2 from+app')).toHaveLength(1)
      await untilRead(
        () => containerIsThere(name),
        (isThere) => !isThere,
        'its container to be removed',
      )
      expect(await read(String(old.jobRunId))).toEqual(old)
      expect(fresh.snapshot.contentId).not.toBe((old.snapshot as Record<string, unknown>).contentId)
      expect(await lines('v1 old+run')).toHaveLength(1)
    })

    it('is billed for the seconds of its containers, at 2 zClouds, exactly', async () => {
      const jobRunId = (await start({ command: 'sleep 2.5' })).structured.jobRun as { jobRunId: string }
      const second = (iso: string) => Math.floor(Date.parse(iso) / 1000)
      const all: { startedAt: string | null; finishedAt: string | null }[] = await untilRead(
        pods,
        (list) => list.every(({ status }: { status: string }) => status !== 'Running'),
        'ended containers',
      )
      const lived = all.map(({ startedAt, finishedAt }) =>
        startedAt && finishedAt ? second(finishedAt) - second(startedAt) : 0,
      )
      const seconds = lived.reduce((sum, one) => sum + one, 0)
      expect(seconds, JSON.stringify(jobRunId)).toBeGreaterThanOrEqual(2)
      const { appEnvId: _of, hours: _hours, ...usage } = await does('get-app-env-usage')
      expect(usage).toMatchObject({
        rateMultiplier: 1,
        containerSeconds: seconds,
        zCloudSeconds: seconds * 2,
        billedZCloudSeconds: seconds * 2,
      })
    })

    async function containerIsThere(name: string): Promise<boolean> {
      if (engine === 'process') {
        return existsSync(path.join(installation.home, 'engine', 'containers', name))
      }
      const { stdout } = await run('docker', ['ps', '-aq', '--filter', `name=${name}`])
      return stdout.trim() !== ''
    }
  })
}
