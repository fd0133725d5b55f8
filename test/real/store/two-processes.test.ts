import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openSqliteDb } from '../../../src/store/sqlite/db.ts'
import { bundledEntry } from '../../../testkit/engines/supervisor-entry.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-store-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

/** As `longshore secrets rotate` beside a serving platform. */
it('two processes write to one store at the same time: no write fails or is overwritten', async () => {
  const file = path.join(dir, 'db')
  const db = await openSqliteDb(file)
  const times = 150
  const [, entry] = bundledEntry('testkit/platform/store-writer.ts')
  const writer = () =>
    new Promise<{ failed: string[] }>((resolve, reject) => {
      const child = fork(entry!, [file, String(times)])
      child.once('message', (said) => resolve(said as { failed: string[] }))
      child.once('exit', (code) => reject(new Error(`the writer ended with ${code} without a result`)))
    })
  const said = await Promise.all([writer(), writer()])
  expect(said.flatMap(({ failed }) => failed)).toEqual([])
  const row = await db.read((tx) =>
    tx.selectFrom('installation').select('value').where('key', '=', 'n').executeTakeFirst(),
  )
  expect(Number(row?.value)).toBe(2 * times)
  await db.close()
})

it('processes killed in the middle of their transactions do not block others', async () => {
  const file = path.join(dir, 'db')
  const db = await openSqliteDb(file)
  const [, entry] = bundledEntry('testkit/platform/store-writer.ts')
  const start = () => fork(entry!, [file, '1000000'])
  const writers = [start(), start()]
  let kills = 0
  const killing = setInterval(() => {
    const index = kills++ % 2
    writers[index]?.kill('SIGKILL')
    writers[index] = start()
  }, 250)
  try {
    for (let value = 0; value < 300 || kills < 12; value += 1) {
      await db.write(async (tx) => {
        await tx.selectFrom('installation').selectAll().execute()
        await new Promise((resolve) => setImmediate(resolve))
        await tx
          .insertInto('installation')
          .values({ key: 'own', value: String(value) })
          .onConflict((conflict) => conflict.column('key').doUpdateSet({ value: String(value) }))
          .execute()
      })
      const row = await db.read((tx) =>
        tx.selectFrom('installation').select('value').where('key', '=', 'own').executeTakeFirst(),
      )
      expect(row?.value).toBe(String(value))
    }
  } finally {
    clearInterval(killing)
    for (const writer of writers) writer.kill('SIGKILL')
    await db.close()
  }
})

it('a store that another process holds for long is unavailable, and is there again at once when it lets go', async () => {
  const file = path.join(dir, 'db')
  const db = await openSqliteDb(file)
  const put = (value: string) =>
    db.write((tx) =>
      tx
        .insertInto('installation')
        .values({ key: `k${value}`, value })
        .execute(),
    )
  const [, entry] = bundledEntry('testkit/platform/store-writer.ts')
  const holder = fork(entry!, [file, 'hold'])
  await new Promise((resolve) => holder.once('message', resolve))
  const gone = new Promise((resolve) => holder.once('exit', resolve))
  const started = performance.now()
  let turns = 0
  const turning = setInterval(() => turns++, 50)
  await expect(put('1')).rejects.toMatchObject({ kind: 'unavailable' })
  clearInterval(turning)
  expect(performance.now() - started, 'it waits for a while').toBeGreaterThan(2_000)
  expect(turns, 'other work goes on meanwhile').toBeGreaterThan(5)
  expect(await db.read((tx) => tx.selectFrom('installation').select('key').execute())).not.toContain('k1')
  holder.kill('SIGKILL')
  await gone
  for (const value of ['2', '3', '4']) await put(value)
  await db.close()
})
