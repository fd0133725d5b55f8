import { afterAll, beforeAll, expect, it } from 'vitest'
import { getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import { deleteAppEnv } from '../../../src/contract/app-envs.ts'
import { createAppEnvBackup, deleteAppEnvBackup, getAppEnvBackup } from '../../../src/contract/backups.ts'
import { deployAppEnvImage } from '../../../src/contract/deployments.ts'
import { diagnoseAppEnv } from '../../../src/contract/diagnosis.ts'
import { FakeEngine } from '../../../testkit/fakes/engine.ts'
import { TestPlatform, type TestUser } from '../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../testkit/until.ts'

const engine = new FakeEngine()
let platform: TestPlatform
let greedy: TestUser
let greedyAccount: string
beforeAll(async () => {
  platform = await TestPlatform.start({ engine })
  greedyAccount = await platform.makeAccount('Greedy')
  greedy = await platform.makeUser({ accountId: greedyAccount, admin: true })
})
afterAll(() => platform.close())

async function made(by: TestUser, accountId: string): Promise<string> {
  const { appEnvId } = await platform.makeEnvironment({
    by: by.client,
    accountId,
    app: { useImage: true },
    environment: { useVolume: true },
  })
  await by.client.call(deployAppEnvImage, { appEnvId, image: 'registry.example.com/team/app:1' })
  await untilRead(
    () => by.client.call(getAppEnvStatus, { appEnvId }),
    ({ status }) => status === 'RUNNING',
    'RUNNING',
  )
  return appEnvId
}

const requested = async (by: TestUser, appEnvId: string) =>
  (await by.client.call(createAppEnvBackup, { appEnvId })).backup.backupId
const become = (by: TestUser, backupId: string, status: string) =>
  untilRead(
    async () => (await by.client.call(getAppEnvBackup, { backupId })).backup,
    (backup) => backup.status === status,
    status,
  )

it('copies of one account that never end leave a place to others, say why they wait, and end with the environment', async () => {
  const { admin, accountId } = platform
  const environments = await Promise.all([1, 2, 3].map(() => made(greedy, greedyAccount)))
  for (const one of environments) engine.faults.endlessDumps.add(one)
  const all = await Promise.all(environments.map((one) => requested(greedy, one)))
  const waiting = await untilRead(
    () =>
      Promise.all(
        all.map(async (backupId) => (await greedy.client.call(getAppEnvBackup, { backupId })).backup),
      ),
    (backups) =>
      backups.filter(({ status }) => status === 'RUNNING').length === 2 &&
      backups.some(({ waitingFor }) => waitingFor),
    'two places taken',
  )
  const last = waiting.find(({ status }) => status === 'PENDING')!
  expect(last.waitingFor).toBe(
    '2 copies of the account are under way; one more place is kept for other accounts.',
  )
  const { findings } = await greedy.client.call(diagnoseAppEnv, { appEnvId: last.appEnvId })
  expect(findings).toContainEqual(
    expect.objectContaining({
      cause: 'copy-waiting',
      severity: 'info',
      summary: expect.stringContaining(last.waitingFor!),
    }),
  )
  const mine = await made(admin, accountId)
  expect(await become(admin, await requested(admin, mine), 'SUCCEEDED')).toMatchObject({ waitingFor: null })

  // The deletion of the environment, or of the backup, ends what runs: its place is free for the one that waits.
  const running = waiting.filter(({ status }) => status === 'RUNNING')
  await greedy.client.call(deleteAppEnv, { appEnvId: running[0]!.appEnvId })
  expect(await become(greedy, running[0]!.backupId, 'FAILED')).toMatchObject({
    failure: 'The environment was deleted.',
  })
  expect(await become(greedy, last.backupId, 'RUNNING')).toMatchObject({ waitingFor: null })
  engine.faults.endlessDumps.delete(last.appEnvId)
  await greedy.client.call(deleteAppEnvBackup, { backupId: running[1]!.backupId })
  const next = await made(greedy, greedyAccount)
  await become(greedy, await requested(greedy, next), 'SUCCEEDED')
})
