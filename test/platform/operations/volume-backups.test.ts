import { readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startAppEnv, stopAppEnv } from '../../../src/contract/app-env-actions.ts'
import { getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import { deleteAppEnv } from '../../../src/contract/app-envs.ts'
import {
  createAppEnvBackup,
  deleteAppEnvBackup,
  getAppEnvBackup,
  restoreAppEnvBackup,
} from '../../../src/contract/backups.ts'
import { deployAppEnvImage } from '../../../src/contract/deployments.ts'
import { deferred } from '../../../testkit/deferred.ts'
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
const filesOf = (appEnvId: string) => engine.host.volumes.get(`${appEnvId}/data`)!

async function made({ isDeployed = true } = {}): Promise<string> {
  const { appEnvId } = await platform.makeEnvironment({
    app: { useImage: true },
    environment: { useVolume: true },
  })
  if (!isDeployed) return appEnvId
  await call(deployAppEnvImage, { appEnvId, image: 'registry.example.com/team/app:1' })
  await runs(appEnvId)
  return appEnvId
}
const runs = (appEnvId: string) =>
  untilRead(
    () => call(getAppEnvStatus, { appEnvId }),
    ({ status }) => status === 'RUNNING',
    'RUNNING',
  )

async function backedUp(appEnvId: string) {
  const { backup } = await call(createAppEnvBackup, { appEnvId })
  return (await ended(backup.backupId)).backup
}
const ended = (backupId: string) =>
  untilRead(
    () => call(getAppEnvBackup, { backupId }),
    ({ backup, restores }) => [backup, ...restores].every(({ finishedAt }) => finishedAt !== null),
    'the end',
  )
const restored = async (appEnvId: string, backupId: string) => {
  await call(restoreAppEnvBackup, { appEnvId, backupId })
  return (await ended(backupId)).restores[0]
}

describe('a backup of a volume', () => {
  it('is a gzipped tar, made while it serves, and replaces the files of another volume', async () => {
    const appEnvId = await made()
    filesOf(appEnvId).set('note', 'kept')
    const backup = await backedUp(appEnvId)
    expect(backup).toMatchObject({ status: 'SUCCEEDED', format: 'tar.gz', failure: null })
    expect(backup.file).toMatch(/\.tar\.gz$/)
    const start = readFileSync(path.join(platform.dir, backup.file!)).subarray(0, 2)
    expect([...start]).toEqual([0x1f, 0x8b])
    const into = await made()
    filesOf(into).set('other', 'gone')
    await call(stopAppEnv, { appEnvId: into })
    expect(await restored(into, backup.backupId)).toMatchObject({ status: 'SUCCEEDED', failure: null })
    expect([...filesOf(into)]).toEqual([['note', 'kept']])
  })

  it('is restored only while the environment is stopped, which then waits with its start', async () => {
    const appEnvId = await made()
    filesOf(appEnvId).set('note', 'kept')
    const { backupId } = await backedUp(appEnvId)
    await expect(call(restoreAppEnvBackup, { appEnvId, backupId })).rejects.toMatchObject({
      message: 'A volume is restored while its environment is stopped',
      details: expect.stringContaining('stop-app-env'),
    })
    let release = () => {}
    engine.faults.holdLoads = new Promise((resolve) => {
      release = resolve
    })
    await call(stopAppEnv, { appEnvId })
    await call(restoreAppEnvBackup, { appEnvId, backupId })
    await expect(call(startAppEnv, { appEnvId })).rejects.toMatchObject({
      kind: 'conflict',
      message: 'A restore of its volume is under way',
    })
    release()
    engine.faults.holdLoads = null
    expect((await ended(backupId)).restores[0]).toMatchObject({ status: 'SUCCEEDED' })
    await call(startAppEnv, { appEnvId })
    await runs(appEnvId)
  })

  it('goes on after the program ended in the middle of a restore', async () => {
    const appEnvId = await made()
    filesOf(appEnvId).set('note', 'kept')
    const { backupId } = await backedUp(appEnvId)
    filesOf(appEnvId).set('note', 'newer')
    await call(stopAppEnv, { appEnvId })
    engine.faults.holdLoads = new Promise(() => {})
    await call(restoreAppEnvBackup, { appEnvId, backupId })
    await untilRead(
      () => call(getAppEnvBackup, { backupId }),
      ({ restores }) => restores[0]?.status === 'RUNNING',
      'RUNNING',
    )
    engine.faults.holdLoads = null
    await platform.restart()
    expect((await ended(backupId)).restores[0]).toMatchObject({ status: 'SUCCEEDED' })
    expect(filesOf(appEnvId).get('note')).toBe('kept')
  })

  it('stays while another environment is restored from it, which then waits with its start', async () => {
    const appEnvId = await made()
    filesOf(appEnvId).set('note', 'kept')
    const { backupId } = await backedUp(appEnvId)
    const into = await made()
    const held = deferred()
    engine.faults.holdLoads = held.promise
    await call(stopAppEnv, { appEnvId: into })
    await call(restoreAppEnvBackup, { appEnvId: into, backupId })
    const refusal = {
      kind: 'conflict',
      message: 'A restore from this backup is under way',
      details: expect.stringContaining('Wait until it has ended'),
    }
    // While it is PENDING, and while it is RUNNING.
    await expect(call(deleteAppEnvBackup, { backupId })).rejects.toMatchObject(refusal)
    await untilRead(
      () => call(getAppEnvBackup, { backupId }),
      ({ restores }) => restores[0]?.status === 'RUNNING',
      'RUNNING',
    )
    await expect(call(deleteAppEnvBackup, { backupId })).rejects.toMatchObject(refusal)
    await expect(call(startAppEnv, { appEnvId: into })).rejects.toMatchObject({
      message: 'A restore of its volume is under way',
    })
    engine.faults.holdLoads = null
    held.resolve()
    expect((await ended(backupId)).restores[0]).toMatchObject({ status: 'SUCCEEDED' })
    await call(deleteAppEnvBackup, { backupId })
    expect(filesOf(into).get('note')).toBe('kept')
    await call(startAppEnv, { appEnvId: into })
    await runs(into)
  })

  it('goes while nothing waits for it: its environment was deleted during the restore', async () => {
    const appEnvId = await made()
    const { backupId } = await backedUp(appEnvId)
    const into = await made()
    const held = deferred()
    engine.faults.holdLoads = held.promise
    await call(stopAppEnv, { appEnvId: into })
    await call(restoreAppEnvBackup, { appEnvId: into, backupId })
    await call(deleteAppEnv, { appEnvId: into })
    await call(deleteAppEnvBackup, { backupId })
    engine.faults.holdLoads = null
    held.resolve()
    await expect(call(getAppEnvBackup, { backupId })).rejects.toMatchObject({ kind: 'not-found' })
  })

  it.each([
    ['../escape', 'leaves the volume'],
    ['/etc/passwd', 'has an absolute path'],
  ])('with the entry %s fails, so that it is never restored', async (name, why) => {
    const appEnvId = await made()
    engine.faults.strangeEntries = [{ name }]
    const backup = await backedUp(appEnvId)
    engine.faults.strangeEntries = []
    expect(backup).toMatchObject({ status: 'FAILED', failure: expect.stringContaining(why) })
  })

  it('needs a volume on both sides, and one that a deployment has made', async () => {
    const appEnvId = await made()
    const { backupId } = await backedUp(appEnvId)
    const fresh = await made({ isDeployed: false })
    await expect(call(createAppEnvBackup, { appEnvId: fresh })).rejects.toMatchObject({
      message: 'The environment has no volume yet',
      details: expect.stringContaining('Deploy'),
    })
    const { appEnvId: database } = await platform.makeEnvironment({ app: { dockerPreset: 'REDIS' } })
    await expect(call(restoreAppEnvBackup, { appEnvId: database, backupId })).rejects.toThrow(
      'A backup of a volume needs an environment with a volume',
    )
  })
})
