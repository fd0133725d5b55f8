import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openSqliteDb } from '../../src/store/sqlite-db.ts'
import { bundledEntry } from '../support/supervisor-entry.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-store-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

/** As `longshore secrets rotate` beside a serving platform. */
it('two processes write to one store at the same time: nobody fails, nothing is overwritten', async () => {
  const file = path.join(dir, 'db')
  const db = await openSqliteDb(file)
  const times = 150
  const [, entry] = bundledEntry('test/support/store-writer.ts')
  const writer = () =>
    new Promise<{ failed: string[] }>((resolve, reject) => {
      const child = fork(entry!, [file, String(times)])
      child.once('message', (said) => resolve(said as { failed: string[] }))
      child.once('exit', (code) => reject(new Error(`the writer ended with ${code} and said nothing`)))
    })
  const said = await Promise.all([writer(), writer()])
  expect(said.flatMap(({ failed }) => failed)).toEqual([])
  const row = await db.read((tx) =>
    tx.selectFrom('installation').select('value').where('key', '=', 'n').executeTakeFirst(),
  )
  expect(Number(row?.value)).toBe(2 * times)
  await db.close()
}, 60_000)
