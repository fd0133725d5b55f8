import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Backup } from '../../../src/domain/backups/backup.ts'
import { insertBackup } from '../../../src/store/repositories/backups.ts'
import { queueLengths } from '../../../src/store/repositories/queue-lengths.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
})
afterAll(() => platform.close())

it('counts what waits or is under way, and not what is over', async () => {
  const { appEnvId } = await platform.makeEnvironment()
  const lengths = () => platform.db.read(queueLengths)
  const none = ['notifications', 'job-runs', 'backups', 'restores'].map((queue) => ({ queue, length: 0 }))
  expect(await lengths()).toEqual(none)
  const backup = (status: Backup['status']): Backup => ({
    backupId: `bak_${status}`,
    appEnvId,
    accountId: platform.accountId,
    envName: 'data',
    dockerPreset: 'REDIS',
    dockerPresetVersion: '7',
    status,
    format: 'rdb',
    sizeBytes: null,
    sha256: null,
    failure: null,
    createdBy: null,
    createdAt: platform.now,
    finishedAt: null,
  })
  await platform.db.write(async (tx) => {
    for (const status of ['PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED'] as const)
      await insertBackup(tx, backup(status))
  })
  expect(await lengths()).toEqual(none.map((one) => (one.queue === 'backups' ? { ...one, length: 2 } : one)))
})
