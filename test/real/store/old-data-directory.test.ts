import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { listAlerts } from '../../../src/contract/alerts.ts'
import { getAppEnvHistory, getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import { getAppEnv, listAppEnvs } from '../../../src/contract/app-envs.ts'
import { listAudit, undoChange } from '../../../src/contract/audit.ts'
import { listContactPoints } from '../../../src/contract/contact-points.ts'
import { listJobRuns } from '../../../src/contract/jobs.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { untilRead } from '../../../testkit/until.ts'

const run = promisify(execFile)
const fixture = path.resolve('testkit/fixtures/data-directory-before-standard-terms.tgz')
const masterKey = Buffer.alloc(32, 'k').toString('base64')
const memberToken = 'lsu_kfH3anyaXgE1F29glhaxyIssPN1l3pa6nxOOvMsuekG4NCvLr'

const installation = new Installation({ LONGSHORE_ENGINE: 'process', LONGSHORE_MASTER_KEY: masterKey })
afterAll(() => installation.dispose())

it('opens the data directory of an older build: what was stored is read, served and can be undone', async () => {
  await run('tar', ['-xzf', fixture, '-C', installation.home])
  await installation.start()
  const client = installation.client()
  const { accountId } = installation.ready

  const { appEnvs } = await client.call(listAppEnvs, { accountId })
  expect(appEnvs.map(({ cliEnvName }) => cliEnvName).sort()).toEqual(['nightly-prod', 'store-prod'])
  const idOf = (name: string) => appEnvs.find(({ cliEnvName }) => cliEnvName === name)!.appEnvId
  const appEnvId = idOf('store-prod')

  const { hosts } = await client.call(getAppEnv, { appEnvId })
  await untilRead(
    () => client.call(getAppEnvStatus, { appEnvId }),
    ({ status, currentVersion }) => status === 'RUNNING' && currentVersion === 2,
    'the function running again',
  )
  expect(await installation.request(hosts[0]!.host!)).toEqual({ status: 200, body: 'from the fixture' })
  const { activities } = await client.call(getAppEnvHistory, { appEnvId })
  expect(new Set(activities.map(({ version }) => version))).toEqual(new Set([2, 1]))

  const jobs = await client.call(listJobRuns, { appEnvId: idOf('nightly-prod') })
  expect(jobs.jobRuns.map(({ status }) => status)).toEqual(['SUCCEEDED'])
  expect((await client.call(listAlerts, { appEnvId })).alerts).toMatchObject([
    { name: 'slow', metric: 'ingress_p95_latency' },
  ])
  expect((await client.call(listContactPoints, { accountId })).contactPoints).toMatchObject([{ name: 'Ops' }])
  expect((await installation.client(memberToken).call(listAppEnvs, { accountId })).appEnvs).toHaveLength(2)

  const { entries } = await client.call(listAudit, { accountId })
  const last = entries.find(({ operation }) => operation === 'update-app-env-variables')
  await client.call(undoChange, { entryId: last!.entryId })
  const after = await client.call(getAppEnv, { appEnvId })
  expect(JSON.stringify(after)).not.toContain('secret-of-the-fixture')

  await installation.end('SIGTERM')
  const verified = await run(process.execPath, ['dist/longshore.js', 'audit', 'verify'], {
    env: { ...process.env, LONGSHORE_HOME: installation.home, LONGSHORE_MASTER_KEY: masterKey },
  })
  expect(verified.stdout).toMatch(/\d+ entries/)
})
