import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createLog } from '../../../../src/log.ts'
import { OwnEnvironments } from '../../../../src/regions/machine/own-environments.ts'
import type { Db } from '../../../../src/store/db.ts'
import { listEnvironmentIdsIn } from '../../../../src/store/repositories/environments-in-regions.ts'
import { openSqliteDb } from '../../../../src/store/sqlite/db.ts'
import { TestClock } from '../../../../testkit/fakes/clock.ts'
import { untilRead } from '../../../../testkit/until.ts'

let dir: string
let db: Db
let clock: TestClock
let woken: string[]
let own: OwnEnvironments
const known = new Set<string>()

beforeEach(async () => {
  dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-own-'))
  db = await openSqliteDb(path.join(dir, 'store.db'))
  clock = new TestClock()
  woken = []
  known.clear()
  own = new OwnEnvironments({
    ...{ db, clock, log: createLog('test', 'silent') },
    scope: { node: 'here', regions: ['north'] },
    has: (appEnvId) => known.has(appEnvId),
    wake: (appEnvIds) => woken.push(...appEnvIds),
  })
})
afterEach(async () => {
  await own.stop()
  await db.close()
  rmSync(dir, { recursive: true })
})

const put = (id: string, region: string, otherRegion: string | null = null) =>
  db.write((tx) =>
    tx
      .insertInto('app_envs')
      .values({
        ...{ app_env_id: id, app_id: 'a', account_id: 'c', cli_env_name: id, status: 'RUNNING', size: 1 },
        ...{ region, other_region: otherRegion, record: '{}', revision: 1, created_at: id },
      })
      .execute(),
  )
const change = (id: string) =>
  db.write((tx) => tx.updateTable('app_envs').set({ revision: 2 }).where('app_env_id', '=', id).execute())
const remove = (id: string) =>
  db.write((tx) => tx.deleteFrom('app_envs').where('app_env_id', '=', id).execute())

it('finds changes without an announcement, of its own regions only', async () => {
  for (const id of ['kept', 'changed', 'deleted']) await put(id, 'north')
  await put('foreign', 'south')
  await own.start()
  await put('made', 'north')
  for (const id of ['changed', 'foreign']) await change(id)
  await remove('deleted')
  await clock.advance(5_000)
  await untilRead(
    async () => woken,
    (ids) => ids.length >= 3,
    'three environments',
  )
  expect([...woken].sort()).toEqual(['changed', 'deleted', 'made'])
})

it('an announcement wakes those of its own regions, and one it has that is gone from the store', async () => {
  await put('mine', 'north')
  await put('foreign', 'south')
  await own.start()
  known.add('gone')
  own.wake(['mine', 'foreign', 'gone'])
  await untilRead(
    async () => woken,
    (ids) => ids.length >= 2,
    'two environments',
  )
  expect([...woken].sort()).toEqual(['gone', 'mine'])
})

it('a machine that starts again finds what an environment has left there, or serves there until it has moved', async () => {
  await put('mine', 'north')
  await put('moving', 'south', 'north')
  await put('foreign', 'south', 'west')
  expect(await db.read((tx) => listEnvironmentIdsIn(tx, ['north']))).toEqual(['mine', 'moving'])
  await own.start()
  own.wake(['moving', 'foreign'])
  await untilRead(
    async () => woken,
    (ids) => ids.length >= 1,
    'one environment',
  )
  expect(woken).toEqual(['moving'])
})

it('an announcement of another region wakes nothing, and a machine without regions does not read for it', async () => {
  await put('foreign', 'south')
  const calls: string[][] = []
  let reads = 0
  const read: Db['read'] = (work) => {
    reads += 1
    return db.read(work)
  }
  const scoped = (regions: string[]) =>
    new OwnEnvironments({
      ...{ db: { ...db, read }, clock, log: createLog('test', 'silent') },
      scope: { node: 'here', regions },
      has: () => false,
      wake: (appEnvIds) => calls.push([...appEnvIds]),
    })
  scoped([]).wake(['foreign'])
  expect([calls, reads]).toEqual([[[]], 0])
  scoped(['north']).wake(['foreign'])
  await untilRead(
    async () => calls,
    ({ length }) => length === 3,
    'the answer of the store',
  )
  expect(calls).toEqual([[], [], []])
})
