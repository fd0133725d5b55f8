import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { stopAppEnv } from '../../../src/contract/app-env-actions.ts'
import { getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import { deleteAppEnv } from '../../../src/contract/app-envs.ts'
import { createAppEnvBackup, deleteAppEnvBackup, getAppEnvBackup } from '../../../src/contract/backups.ts'
import { deployAppEnvImage, requestDeployStorageKey } from '../../../src/contract/deployments.ts'
import { FolderFiles } from '../../../src/files/folder.ts'
import { fileRemover } from '../../../src/server/housekeeping.ts'
import { soleMembership } from '../../../src/store/membership.ts'
import { listRemovals } from '../../../src/store/repositories/removals.ts'
import { FakeEngine } from '../../../testkit/fakes/engine.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../testkit/until.ts'

const engine = new FakeEngine()
let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start({ engine })
})
afterAll(() => platform.close())

const call: TestPlatform['admin']['client']['call'] = (...args) => platform.admin.client.call(...args)
const left = () => platform.db.read((tx) => listRemovals(tx, {}))
const becomes = (appEnvId: string, status: string) =>
  untilRead(
    () => call(getAppEnvStatus, { appEnvId }),
    (one) => one.status === status,
    status,
  )

async function deployed(): Promise<string> {
  const { appEnvId } = await platform.makeEnvironment({
    app: { useImage: true },
    environment: { useVolume: true },
  })
  await call(deployAppEnvImage, { appEnvId, image: 'registry.example.com/team/app:1' })
  await becomes(appEnvId, 'RUNNING')
  return appEnvId
}

/** The control plane dies after its answer, before the reconciler does anything. */
async function deletedBeforeCrash(appEnvId: string): Promise<void> {
  await platform.reconciler?.stop()
  await call(deleteAppEnv, { appEnvId })
}

it('an environment that was deleted just before a crash leaves nothing after the next start', async () => {
  const appEnvId = await deployed()
  engine.host.volumes.get(`${appEnvId}/data`)!.set('note', 'private')
  platform.logs.append(appEnvId, [
    {
      at: platform.now,
      stream: 'stdout',
      type: 'RUNTIME',
      podName: 'one',
      contentId: null,
      message: 'private',
    },
  ])
  await call(stopAppEnv, { appEnvId })
  await becomes(appEnvId, 'STOPPED')
  await deletedBeforeCrash(appEnvId)
  expect(engine.host.volumes.has(`${appEnvId}/data`)).toBe(true)
  expect(await left()).toEqual([{ kind: 'environment', subject: appEnvId, region: 'local' }])

  // The engine is away at first: the intent stays until nothing is left.
  engine.faults.failPurges = 1
  await platform.restartReconciler()
  await untilRead(left, (found) => found.length === 0, 'the end of the removal')
  expect(engine.host.volumes.has(`${appEnvId}/data`)).toBe(false)
  expect(existsSync(path.join(platform.dir, 'logs', appEnvId))).toBe(false)
})

it('files of deleted uploads and backups go after the next start, whatever the rows say by then', async () => {
  const appEnvId = await deployed()
  const { backup } = await call(createAppEnvBackup, { appEnvId })
  const { file } = (
    await untilRead(
      () => call(getAppEnvBackup, { backupId: backup.backupId }),
      (one) => one.backup.status === 'SUCCEEDED',
      'the backup',
    )
  ).backup
  const { uploadUrl } = await call(requestDeployStorageKey, {
    appEnvId: (await platform.makeEnvironment()).appEnvId,
    fileExtension: '.tgz',
  })
  expect(uploadUrl).toBeTruthy()
  const uploads = await platform.db.read((tx) =>
    tx.selectFrom('uploads').select(['upload_id', 'app_env_id']).execute(),
  )
  mkdirSync(path.join(platform.dir, 'uploads'), { recursive: true })
  const upload = path.join(platform.dir, 'uploads', uploads[0]!.upload_id)
  writeFileSync(upload, 'source')
  await platform.reconciler?.stop()
  await call(deleteAppEnvBackup, { backupId: backup.backupId })
  await call(deleteAppEnv, { appEnvId: uploads[0]!.app_env_id })
  expect((await left()).map(({ subject }) => subject)).toEqual([
    file,
    uploads[0]!.app_env_id,
    `uploads/${uploads[0]!.upload_id}`,
  ])
  const { db, clock, log } = platform
  const worker = fileRemover({
    ...{ db, clock, log, files: new FolderFiles(platform.dir), hasSharedFiles: false, regions: [] },
    membership: soleMembership(db, 'test', () => clock.wallMs()),
  })
  await untilRead(left, (found) => found.every(({ kind }) => kind !== 'file'), 'the end of the removals')
  await worker.stop()
  expect([existsSync(upload), existsSync(path.join(platform.dir, file!))]).toEqual([false, false])
})
