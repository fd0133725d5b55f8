import { readFileSync } from 'node:fs'
import path from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  applyAppEnvChanges,
  restartAppEnv,
  startAppEnv,
  stopAppEnv,
} from '../../../src/contract/app-env-actions.ts'
import { getAppEnvHistory, getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import { getAppEnv, updateAppEnv } from '../../../src/contract/app-envs.ts'
import { createAppEnvBackup, deleteAppEnvBackup, listAppEnvBackups } from '../../../src/contract/backups.ts'
import { deployAppEnvImage } from '../../../src/contract/deployments.ts'
import { statusSentence } from '../../../src/contract/status-sentence.ts'
import type { Environment } from '../../../src/domain/environments/environment.ts'
import { findEnvironment } from '../../../src/store/repositories/environments.ts'
import type { FakeEngine } from '../../../testkit/fakes/engine.ts'
import { noFaults } from '../../../testkit/fakes/faults.ts'
import { openToolSession } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../testkit/until.ts'

let platform: TestPlatform

beforeAll(async () => {
  platform = await TestPlatform.start({ stabilityScale: 100 })
})
afterEach(() => {
  for (const { faults } of [platform.engine, platform.plainEngine]) Object.assign(faults, noFaults())
})
afterAll(() => platform.close())

const call: TestPlatform['admin']['client']['call'] = (...args) => platform.admin.client.call(...args)
const filesIn = (engine: FakeEngine, appEnvId: string) => engine.host.volumes.get(`${appEnvId}/data`)
const runningIn = (engine: FakeEngine, appEnvId: string) =>
  engine.running().filter(({ spec }) => spec.appEnvId === appEnvId).length
const read = (appEnvId: string) => call(getAppEnv, { appEnvId })
const stored = async (appEnvId: string) =>
  (await platform.db.read((tx) => findEnvironment(tx, { appEnvId }))) as Environment
const moveTo = (appEnvId: string, region: string) => call(updateAppEnv, { appEnvId, region })
const settled = (appEnvId: string, region: string) =>
  untilRead(
    () => read(appEnvId),
    (one) => !one.changingRegion && one.region === region && one.status === 'RUNNING',
    `a move to ${region}`,
  )
const cleared = (appEnvId: string) =>
  untilRead(
    () => stored(appEnvId),
    (environment) => environment.leftVolumeIn === undefined,
    'nothing left behind',
  )

/** It serves in `local`, with a note in its volume. */
async function made(): Promise<string> {
  const { appEnvId } = await platform.makeEnvironment({
    app: { useImage: true },
    environment: { useVolume: true },
  })
  await call(deployAppEnvImage, { appEnvId, image: 'registry.example.com/team/app:1' })
  await settled(appEnvId, 'local')
  filesIn(platform.engine, appEnvId)?.set('note', 'kept')
  return appEnvId
}

/** The restore of its move waits until `release` is called. */
function heldRestore(): { release: () => void } {
  let release = () => {}
  platform.plainEngine.faults.holdLoads = new Promise((resolve) => {
    release = () => {
      platform.plainEngine.faults.holdLoads = null
      resolve()
    }
  })
  return { release: () => release() }
}
const copying = (appEnvId: string) =>
  untilRead(
    () => stored(appEnvId),
    ({ volumeMove }) => volumeMove?.restoreId !== undefined,
    'a restore in the new region',
  )

describe('3.3 a move of an environment with a volume', () => {
  it('copies it while nothing runs, starts there, and leaves nothing behind; and back', async () => {
    const appEnvId = await made()
    const { release } = heldRestore()
    const dryRun = await platform.request('PUT', '/app-env', {
      token: platform.admin.token,
      headers: { 'dry-run': 'true' },
      input: { appEnvId, region: 'plain' },
    })
    expect(dryRun.json.effects).toHaveLength(1)
    expect(dryRun.json.effects[0]).toContain(
      'DOWN while a backup of its volume is taken and restored in plain',
    )
    const session = await openToolSession(platform.apiUrl, { token: platform.admin.token })
    const { text } = await session.call('update-app-env', { appEnvId, region: 'plain' })
    await session.close()
    expect(text).toContain('With a volume it serves nothing while that is copied.')
    await copying(appEnvId)
    expect(runningIn(platform.engine, appEnvId) + runningIn(platform.plainEngine, appEnvId)).toBe(0)
    expect(platform.routes.routes.get(appEnvId)?.problem).toContain('being copied to another region')
    const status = await call(getAppEnvStatus, { appEnvId })
    expect(statusSentence(status)).toContain('serves nothing while its volume is copied to plain')
    release()
    await settled(appEnvId, 'plain')
    expect(Object.fromEntries(filesIn(platform.plainEngine, appEnvId) ?? [])).toEqual({ note: 'kept' })
    await cleared(appEnvId)
    expect(filesIn(platform.engine, appEnvId)).toBeUndefined()
    expect(runningIn(platform.plainEngine, appEnvId)).toBe(1)
    const { backups, restores } = await call(listAppEnvBackups, { accountId: platform.accountId, appEnvId })
    expect(backups).toMatchObject([{ status: 'SUCCEEDED', format: 'tar.gz' }])
    expect(restores).toMatchObject([{ status: 'SUCCEEDED', backupId: backups[0]?.backupId }])

    filesIn(platform.plainEngine, appEnvId)?.set('note', 'newer')
    await moveTo(appEnvId, 'local')
    await settled(appEnvId, 'local')
    expect(filesIn(platform.engine, appEnvId)?.get('note')).toBe('newer')
    await cleared(appEnvId)
    expect(filesIn(platform.plainEngine, appEnvId)).toBeUndefined()
  })

  it('that fails there starts where it was, with its data, and removes the copy', async () => {
    const appEnvId = await made()
    platform.plainEngine.faults.failStarts = { times: 9, reason: 'exited', message: 'told to fail' }
    await moveTo(appEnvId, 'plain')
    await settled(appEnvId, 'local')
    platform.plainEngine.faults.failStarts.times = 0
    await untilRead(
      async () => runningIn(platform.engine, appEnvId),
      (count) => count === 1,
      'its container',
    )
    expect(filesIn(platform.engine, appEnvId)?.get('note')).toBe('kept')
    await cleared(appEnvId)
    expect(filesIn(platform.plainEngine, appEnvId)).toBeUndefined()
  })

  it('whose copy fails says so in the history and starts where it was', async () => {
    const appEnvId = await made()
    platform.engine.faults.strangeEntries = [{ name: '../../outside', type: 'file' }]
    await moveTo(appEnvId, 'plain')
    await settled(appEnvId, 'local')
    platform.engine.faults.strangeEntries = []
    const { activities } = await call(getAppEnvHistory, { appEnvId })
    expect(activities.find(({ activity }) => activity === 'CHANGE_REGION')).toMatchObject({
      status: 'FAILED',
      details: expect.stringContaining('The volume could not be copied to plain'),
    })
    expect(filesIn(platform.engine, appEnvId)?.get('note')).toBe('kept')
  })

  it('is given up by a stop; what it copied is removed, and a start finds the data', async () => {
    const appEnvId = await made()
    const { release } = heldRestore()
    await moveTo(appEnvId, 'plain')
    await copying(appEnvId)
    await call(stopAppEnv, { appEnvId })
    expect(await read(appEnvId)).toMatchObject({ region: 'local', changingRegion: false, status: 'STOPPED' })
    release()
    await cleared(appEnvId)
    await untilRead(
      () => call(listAppEnvBackups, { accountId: platform.accountId, appEnvId }),
      ({ restores }) => restores.every(({ finishedAt }) => finishedAt !== null),
      'the end of the restore',
    )
    expect(filesIn(platform.plainEngine, appEnvId)).toBeUndefined()
    await call(startAppEnv, { appEnvId })
    await settled(appEnvId, 'local')
    expect(filesIn(platform.engine, appEnvId)?.get('note')).toBe('kept')
  })

  it('is given up by a stop although the new region is away, and starts at once; the copy goes when it is back', async () => {
    const appEnvId = await made()
    const { faults } = platform.plainEngine
    heldRestore()
    await moveTo(appEnvId, 'plain')
    await copying(appEnvId)
    faults.away = true
    await call(stopAppEnv, { appEnvId })
    await call(startAppEnv, { appEnvId })
    await settled(appEnvId, 'local')
    expect((await stored(appEnvId)).leftVolumeIn).toBe('plain')
    await platform.restart(async () => {
      Object.assign(faults, noFaults())
    })
    await cleared(appEnvId)
    expect(filesIn(platform.engine, appEnvId)?.get('note')).toBe('kept')
  })

  it('copies the volume also if it was to be dropped for a while', async () => {
    const { faults } = platform.plainEngine
    const volume = async (appEnvId: string, useVolume: boolean) => {
      await call(updateAppEnv, { appEnvId, useVolume })
      await call(applyAppEnvChanges, { appEnvId })
      return (await stored(appEnvId)).volumeMove?.step
    }
    const [moved, stopped] = [await made(), await made()]
    faults.away = true
    for (const appEnvId of [moved, stopped]) {
      await moveTo(appEnvId, 'plain')
      expect(await volume(appEnvId, false)).toBeUndefined()
    }
    expect(await volume(moved, true)).toBe('prepare')
    await call(stopAppEnv, { appEnvId: stopped })
    expect(await read(stopped)).toMatchObject({ region: 'local', changingRegion: false })
    faults.away = false
    await settled(moved, 'plain')
    expect(filesIn(platform.plainEngine, moved)?.get('note')).toBe('kept')
  })

  it('leaves a backup that was requested before it where the volume was', async () => {
    const appEnvId = await made()
    const { backup } = await call(createAppEnvBackup, { appEnvId })
    await moveTo(appEnvId, 'plain')
    await settled(appEnvId, 'plain')
    const { backups } = await call(listAppEnvBackups, { accountId: platform.accountId, appEnvId })
    expect(backups.map(({ backupId }) => backupId)).toContain(backup.backupId)
    const contents = backups.map(({ file }) => gunzipSync(readFileSync(path.join(platform.dir, file ?? ''))))
    expect(contents.map((one) => one.includes('kept'))).toEqual([true, true])
  })

  it('goes on after a restart of the control plane at each of its steps', async () => {
    const appEnvId = await made()
    const { faults } = platform.plainEngine
    const step = (wanted: string) =>
      untilRead(
        () => stored(appEnvId),
        ({ volumeMove }) => volumeMove?.step === wanted,
        wanted,
      )
    faults.away = true
    await moveTo(appEnvId, 'plain')
    await step('prepare')
    expect(runningIn(platform.engine, appEnvId)).toBe(1)
    heldRestore()
    await platform.restart(async () => {
      faults.away = false
    })
    await copying(appEnvId)
    await platform.restart(async () => {
      Object.assign(faults, { holdLoads: null, listenDelayMs: 5_000 })
    })
    await step('start')
    await platform.restart()
    await settled(appEnvId, 'plain')
    await platform.restart()
    await cleared(appEnvId)
    expect(filesIn(platform.engine, appEnvId)).toBeUndefined()
    expect(Object.fromEntries(filesIn(platform.plainEngine, appEnvId) ?? [])).toEqual({ note: 'kept' })
    expect(runningIn(platform.plainEngine, appEnvId)).toBe(1)
    expect((await call(listAppEnvBackups, { accountId: platform.accountId, appEnvId })).backups).toHaveLength(
      1,
    )
  })

  it('refuses meanwhile what would lose data, and at first what has no version that serves', async () => {
    const appEnvId = await made()
    const { release } = heldRestore()
    await moveTo(appEnvId, 'plain')
    await copying(appEnvId)
    const refusal = { kind: 'conflict', details: expect.stringContaining('stop-app-env gives the move') }
    await expect(call(restartAppEnv, { appEnvId })).rejects.toMatchObject(refusal)
    await expect(moveTo(appEnvId, 'local')).rejects.toMatchObject(refusal)
    await expect(call(createAppEnvBackup, { appEnvId })).rejects.toMatchObject(refusal)
    const { backupId = '' } = (await stored(appEnvId)).volumeMove ?? {}
    await expect(call(deleteAppEnvBackup, { backupId })).rejects.toMatchObject(refusal)
    release()
    await settled(appEnvId, 'plain')
    await cleared(appEnvId)
    await call(stopAppEnv, { appEnvId })
    await expect(moveTo(appEnvId, 'local')).rejects.toThrow('A stopped environment with a volume cannot move')
  })
})
