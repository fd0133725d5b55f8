import { execFile } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Selectable } from 'kysely'
import Database from 'libsql'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createAccount } from '../../../src/contract/accounts.ts'
import { scaleAppEnvContainers } from '../../../src/contract/app-env-actions.ts'
import { createAppEnv } from '../../../src/contract/app-envs.ts'
import { createApp } from '../../../src/contract/apps.ts'
import type { Tables } from '../../../src/store/db.ts'
import { hashOfEntry } from '../../../src/store/repositories/audit.ts'
import type { ChainReport } from '../../../src/store/verify-audit.ts'
import { Installation } from '../../../testkit/platform/installation.ts'

const run = promisify(execFile)
type Entry = Selectable<Tables['audit_log']>

const installation = new Installation({ LONGSHORE_ENGINE: 'process' })
const folders: string[] = []
let entries: Entry[] = []

interface Verdict {
  code: number
  whole: boolean
  chains: ChainReport[]
  missingHeads: string[]
}

async function verify(home = installation.home, ...options: string[]): Promise<Verdict> {
  const env = { ...process.env, LONGSHORE_HOME: home }
  const { stdout, code } = await run('node', ['dist/longshore.js', 'audit', 'verify', '--json', ...options], {
    env,
  })
    .then(({ stdout }) => ({ stdout, code: 0 }))
    .catch((error: { stdout: string; code: number }) => error)
  return { code, ...JSON.parse(stdout) }
}

const mine = ({ chains }: Verdict) =>
  chains.find(({ accountId }) => accountId === installation.ready.accountId) as ChainReport

beforeAll(async () => {
  await installation.start()
  const client = installation.client()
  const { accountId } = installation.ready
  await client.call(createAccount, { name: 'Another chain' })
  const { appId } = await client.call(createApp, { accountId, name: 'kept', port: 8080 })
  const region = 'local'
  const { appEnvId } = await client.call(createAppEnv, { accountId, appId, name: 'prod', region })
  for (const containers of [2, 3, 4, 5]) await client.call(scaleAppEnvContainers, { appEnvId, containers })
})
afterAll(async () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  await installation.dispose()
})

it('longshore audit verify finds an untouched trail whole, while it is served and after a kill -9', async () => {
  expect(await verify()).toMatchObject({ code: 0, whole: true, missingHeads: [] })
  const { head } = mine(await verify())
  await installation
    .client()
    .call(createApp, { accountId: installation.ready.accountId, name: 'more', port: 80 })
  expect((await verify(installation.home, '--head', head)).code).toBe(0)
  await installation.end('SIGKILL')
  const after = await verify()
  expect(after).toMatchObject({ code: 0, whole: true })
  expect(mine(after)).toMatchObject({ broken: null, note: null })
})

/** A copy of the stopped installation, altered by somebody who can write the store. */
function tampered(alter: (database: Database.Database) => void): string {
  const home = mkdtempSync(path.join(os.tmpdir(), 'longshore-tampered-'))
  folders.push(home)
  for (const file of ['longshore.db', 'longshore.db-wal', 'master-key']) {
    try {
      copyFileSync(path.join(installation.home, file), path.join(home, file))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  const database = new Database(path.join(home, 'longshore.db'))
  entries = database
    .prepare('select * from audit_log where account_id = ? order by seq')
    .all(installation.ready.accountId) as Entry[]
  alter(database)
  database.close()
  return home
}

const set = (database: Database.Database, seq: number, column: string, value: unknown) =>
  database.prepare(`update audit_log set "${column}" = ? where seq = ?`).run(value, seq)
const drop = (database: Database.Database, from: number, to = from) =>
  database.prepare('delete from audit_log where seq between ? and ?').run(from, to)

/** What is done to the store, and which entry is then named: its place, and why. */
const alterations: [string, (database: Database.Database) => void, number, RegExp][] = [
  ['another principal', (db) => set(db, entries[2]!.seq, 'principal', 'user:usr_x'), 2, /changed after/],
  ['another value', (db) => set(db, entries[3]!.seq, 'after', entries[4]!.after), 3, /changed after/],
  ['another outcome', (db) => set(db, entries[1]!.seq, 'outcome', 'refused'), 1, /changed after/],
  ['text cut short', (db) => set(db, entries[3]!.seq, 'before', '{}'), 3, /changed after/],
  ['a deleted entry', (db) => drop(db, entries[3]!.seq), 4, /removed, inserted or moved/],
  ['the first entry deleted', (db) => drop(db, entries[0]!.seq), 1, /removed, inserted or moved/],
  [
    'two entries swapped',
    (db) => {
      set(db, entries[2]!.seq, 'seq', -1)
      set(db, entries[3]!.seq, 'seq', entries[2]!.seq)
      set(db, -1, 'seq', entries[3]!.seq)
    },
    3,
    /removed, inserted or moved/,
  ],
  ['the last entry cut off', (db) => drop(db, entries.at(-1)!.seq), -2, /1 entry after it was cut off/],
  [
    'the last three entries cut off',
    (db) => drop(db, entries.at(-3)!.seq, entries.at(-1)!.seq),
    -4,
    /3 entries after it were cut off/,
  ],
  ['all hashes made anew after a change', rehash, -1, /the entries were rewritten/],
  ['the sealed head removed', (db) => db.exec('delete from audit_heads'), -1, /head of the chain is missing/],
  [
    'the sealed head of another account',
    (db) =>
      db
        .prepare(
          'update audit_heads set record = (select record from audit_heads where account_id <> ? limit 1) where account_id = ?',
        )
        .run(installation.ready.accountId, installation.ready.accountId),
    -1,
    /head of the chain is missing or cannot be opened/,
  ],
]

/** What the chain of hashes alone does not withstand: everybody can compute SHA-256. */
function rehash(database: Database.Database): void {
  let previous = ''
  for (const [index, entry] of entries.entries()) {
    const altered = { ...entry, previous_hash: previous, ...(index === 2 ? { principal: 'user:usr_x' } : {}) }
    previous = hashOfEntry(altered)
    set(database, entry.seq, 'principal', altered.principal)
    set(database, entry.seq, 'previous_hash', altered.previous_hash)
    set(database, entry.seq, 'hash', previous)
  }
}

it.each(alterations)(
  'longshore audit verify names the entry: %s',
  async (_what, alter, place, why) => {
    const verdict = await verify(tampered(alter))
    expect(verdict).toMatchObject({ code: 1, whole: false })
    expect(mine(verdict).broken).toEqual({
      entryId: entries.at(place)!.entry_id,
      why: expect.stringMatching(why),
    })
  },
  180_000,
)

it('longshore audit verify says so when the ends of the chains cannot be checked', async () => {
  const home = tampered(() => {})
  rmSync(path.join(home, 'master-key'))
  const env = { ...process.env, LONGSHORE_HOME: home }
  const { stderr, stdout } = await run('node', ['dist/longshore.js', 'audit', 'verify'], { env })
  expect(stderr).toContain('NOT checked')
  expect(stdout).toContain('The audit log is intact')
})
