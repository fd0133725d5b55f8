import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getLogs } from '../../../src/contract/app-env-reads.ts'
import { createAppEnv, getAppEnv, updateAppEnv } from '../../../src/contract/app-envs.ts'
import { createApp, listApps } from '../../../src/contract/apps.ts'
import { getJobRun, startJobRun } from '../../../src/contract/jobs.ts'
import { getAppEnvMetricsSeries } from '../../../src/contract/measurements.ts'
import { listRegions } from '../../../src/contract/regions.ts'
import { createUserToken, getUser, revokeUserToken } from '../../../src/contract/users.ts'
import { ControlPlanes } from '../../../testkit/platform/control-planes.ts'
import { deploy, sampleSource, untilDeployed } from '../../../testkit/platform/deploy.ts'
import { noPostgres, PostgresServer } from '../../../testkit/store/postgres-server.ts'
import { untilRead } from '../../../testkit/until.ts'

const run = promisify(execFile)
const base = 'node:22-alpine'

describe.skipIf(noPostgres)(
  `control planes of one database${noPostgres ? `: left out, ${noPostgres}` : ''}`,
  () => {
    let server: PostgresServer
    let planes: ControlPlanes
    let accountId: string
    /** Environments of the machine alder, made through birch. */
    let appEnvId: string
    let jobEnvId: string
    const alder = () => planes.at('alder')
    const birch = () => planes.at('birch')
    const cedar = () => planes.at('cedar')

    async function make(name: string, app: Record<string, unknown>): Promise<string> {
      const client = birch().client()
      const { appId } = await client.call(createApp, { accountId, name, ...app })
      return (await client.call(createAppEnv, { accountId, appId, name: 'prod', region: 'north' })).appEnvId
    }

    beforeAll(async () => {
      server = await PostgresServer.start()
      const machines = { alder: 'north=process', birch: 'south=process', cedar: 'none' }
      planes = await ControlPlanes.start(server, machines)
      accountId = alder().ready.accountId
      appEnvId = await make('web', { dockerPreset: 'CUSTOM', port: 8080 })
      jobEnvId = await make('job', {
        dockerPreset: 'JOB',
        jobConfig: { command: 'node job.js', maxConcurrency: 4 },
      })
    })
    afterAll(async () => {
      await planes?.dispose()
      await server?.stop()
    })

    it('answers the same on each of them', async () => {
      const answers = await Promise.all(
        [alder(), birch(), cedar()].map(async (plane) => ({
          regions: await plane.client().call(listRegions, {}),
          environment: await plane.client().call(getAppEnv, { appEnvId }),
        })),
      )
      expect(answers[0]?.regions.regions).toMatchObject([
        { region: 'north', node: 'alder', engine: 'process', available: true },
        { region: 'south', node: 'birch', engine: 'process', available: true },
      ])
      expect(answers[1]).toEqual(answers[0])
      expect(answers[2]).toEqual(answers[0])
      for (const asked of ['alder', 'birch', 'cedar']) {
        const instances = await planes.instances(asked)
        expect(instances.map(({ node, regions }) => `${node} ${regions}`)).toEqual([
          'alder north',
          'birch south',
          'cedar ',
        ])
      }
    })

    it('spreads the shared work, each part on one of them', async () => {
      const leases = async () => {
        const instances = await planes.instances('cedar')
        return instances.map((one) =>
          one.leases.map(({ name }) => name).filter((name) => !name.startsWith('machine ')),
        )
      }
      const found = await untilRead(
        leases,
        (all) => all.every(({ length }) => length > 0),
        'work on each of them',
      )
      expect(found.flat().sort()).toEqual([
        'alerts of absent machines',
        'chat',
        'domains',
        'housekeeping',
        'notifications',
        'remediations',
        'usage',
      ])
    })

    it('/readyz shows instances, leases and lag to those with a token, and so does `longshore instances`', async () => {
      interface Shown {
        instances: { node: string; isAlive: boolean; lagMs: number; leases: string[] }[]
      }
      const ready = async (headers: Record<string, string>) =>
        (await fetch(new URL('/readyz', cedar().ready.api), { headers })).json() as Promise<Shown>
      const { instances } = await ready({ authorization: cedar().token })
      expect(
        instances.map(({ node, isAlive }: { node: string; isAlive: boolean }) => [node, isAlive]),
      ).toEqual([
        ['alder', true],
        ['birch', true],
        ['cedar', true],
      ])
      for (const { lagMs, leases } of instances) {
        expect(lagMs).toBeGreaterThanOrEqual(0)
        expect(leases.length).toBeGreaterThan(0)
      }
      expect(await ready({})).toEqual({ status: 'ready' })
      const env = { ...process.env, LONGSHORE_URL: birch().ready.api, LONGSHORE_TOKEN: birch().token }
      const { stdout } = await run(process.execPath, ['dist/longshore.js', 'instances', 'list'], { env })
      for (const name of ['alder', 'birch', 'cedar', 'machine alder']) expect(stdout).toContain(name)
    })

    it('deploys through one what runs on the machine of another, and reads its logs and metrics from anywhere', async () => {
      await deploy(birch(), appEnvId, sampleSource(base))
      const status = await untilDeployed(cedar(), appEnvId)
      expect(status.currentDeployment).toMatchObject({ status: 'DEPLOYED', failure: null })
      const host = (await cedar().client().call(getAppEnv, { appEnvId })).hosts[0]?.host ?? ''
      expect((await alder().request(host)).status).toBe(200)
      for (const plane of [alder(), birch(), cedar()]) {
        const { logs } = await plane.client().call(getLogs, { appEnvId, search: 'listening' })
        expect(logs).toHaveLength(1)
      }
      const series = () => cedar().client().call(getAppEnvMetricsSeries, { appEnvId, metric: 'memory_usage' })
      await untilRead(series, ({ points }) => points.length > 0, 'a sample of alder read through cedar')
    })

    it('runs a job that was started through another once', async () => {
      const source = {
        Dockerfile: `FROM ${base}\nWORKDIR /app\nCOPY job.js .\n`,
        'job.js': 'console.log("it ran")\n',
      }
      await deploy(birch(), jobEnvId, source)
      await untilDeployed(birch(), jobEnvId)
      const runs = await Promise.all(
        [birch(), cedar(), birch(), cedar()].map(async (plane) => {
          const { jobRun } = await plane.client().call(startJobRun, { appEnvId: jobEnvId })
          return untilRead(
            async () => (await plane.client().call(getJobRun, { jobRunId: jobRun.jobRunId })).jobRun,
            ({ finishedAt }) => finishedAt !== null,
            'an ended run',
          )
        }),
      )
      expect(runs.map(({ status, attempt }) => `${status} ${attempt}`)).toEqual(Array(4).fill('SUCCEEDED 1'))
      const { logs } = await cedar()
        .client()
        .call(getLogs, { appEnvId: jobEnvId, type: 'JOB', search: 'it ran' })
      expect(logs).toHaveLength(4)
    })

    it('A5 a revoked token is dead on each of them with the next request', async () => {
      const { token, tokenId } = await alder().client().call(createUserToken, { name: 'short' })
      for (const plane of [alder(), birch(), cedar()]) await plane.client(token).call(getUser, {})
      await birch().client().call(revokeUserToken, { tokenId })
      for (const plane of [alder(), birch(), cedar()]) {
        await expect(plane.client(token).call(getUser, {})).rejects.toMatchObject({ kind: 'unauthenticated' })
      }
    })

    it('one idempotency key has one effect, whichever of them gets the requests', async () => {
      const body = JSON.stringify({ accountId, name: 'once', dockerPreset: 'CUSTOM', port: 8080 })
      const send = async (plane = alder()) => {
        const headers = {
          authorization: plane.token,
          'content-type': 'application/json',
          'idempotency-key': 'the same for all',
        }
        const answer = await fetch(`${plane.ready.api}/app`, { method: 'POST', headers, body })
        return `${answer.status} ${await answer.text()}`
      }
      const together = await Promise.all([alder(), birch(), cedar(), alder(), birch(), cedar()].map(send))
      expect(new Set([...together, await send(cedar())]).size).toBe(1)
      expect(together[0]).toMatch(/^200 /)
      const { apps } = await birch().client().call(listApps, { accountId })
      expect(apps.filter(({ name }) => name === 'once')).toHaveLength(1)
    })

    it('an environment does not move to another machine', async () => {
      await expect(birch().client().call(updateAppEnv, { appEnvId, region: 'south' })).rejects.toMatchObject({
        kind: 'invalid',
        message: 'An environment cannot move to another machine',
      })
    })

    it('refuses a machine that claims the region of another, and calls that no control plane sealed', async () => {
      const second = planes.add('dogwood', 'north=process')
      await expect(second.start()).rejects.toThrow(/The region north runs on the machine alder/)
      const url = new URL('/internal/peer', alder().ready.api)
      const answer = await fetch(url, {
        method: 'POST',
        body: 'v1.key.text',
        headers: { authorization: alder().token },
      })
      expect(answer.status).toBe(403)
      expect((await planes.instances('alder')).map(({ node }) => node)).toEqual(['alder', 'birch', 'cedar'])
    })
  },
)
