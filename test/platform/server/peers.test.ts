import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { AppError } from '../../../src/errors.ts'
import { createLog, Secret } from '../../../src/log.ts'
import { Peers } from '../../../src/server/instances/peers.ts'
import type { Db } from '../../../src/store/db.ts'
import type { KnownInstance } from '../../../src/store/membership.ts'
import { openSecretBox, parseMasterKey, type SecretBox } from '../../../src/store/secrets/secret-box.ts'
import { openSqliteDb } from '../../../src/store/sqlite/db.ts'

const log = createLog('test', 'silent')
const methods = {
  double: async (value: number) => value * 2,
  refuse: async () => {
    throw new AppError('conflict', 'It is busy', { details: 'Try later.' })
  },
  break: async () => {
    throw new Error('the password is hunter2')
  },
}

let dir: string
let db: Db
let box: SecretBox
let server: Server
/** Everything that went over the wire. */
let wire: string
let other: KnownInstance

beforeEach(async () => {
  dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-peers-'))
  db = await openSqliteDb(path.join(dir, 'store.db'))
  box = await openSecretBox(db, parseMasterKey(new Secret('11'.repeat(32))), '2026-03-01T00:00:00.000Z')
  const peers = new Peers(box, 'other', log)
  wire = ''
  server = createServer(async (request, response) => {
    let sealed = ''
    for await (const part of request) sealed += part
    const reply = await peers.serve(methods, sealed).catch(() => null)
    wire += `${sealed}${reply}`
    response.writeHead(reply === null ? 403 : 200).end(reply ?? '')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  other = {
    ...{ node: 'other', host: os.hostname(), version: '1', dataKey: '', regions: [], leases: [] },
    ...{ isAlive: true, startedAtMs: 0, lastSeenAtMs: 0 },
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  }
})
afterEach(async () => {
  await new Promise((resolve) => server.close(resolve))
  await db.close()
  rmSync(dir, { recursive: true })
})

it('a call returns what the other control plane returned or threw, and shows nothing on the way', async () => {
  const peers = new Peers(box, 'here', log)
  expect(await peers.call(other, 'double', 210_111)).toBe(420_222)
  await expect(peers.call(other, 'refuse', {})).rejects.toMatchObject({
    kind: 'conflict',
    message: 'It is busy',
    details: 'Try later.',
  })
  await expect(peers.call(other, 'unknown', {})).rejects.toMatchObject({ kind: 'invalid' })
  const broken = await peers.call<AppError>(other, 'break', {}).catch((error) => error)
  expect(broken).toMatchObject({ kind: 'unavailable' })
  expect(`${broken.message} ${broken.details}`).not.toContain('hunter2')
  for (const text of ['double', '210111', '420222', 'busy']) expect(wire).not.toContain(text)
})

it('a call that was sealed for another machine, or with another key, is refused', async () => {
  const here = new Peers(box, 'here', log)
  const call = { nonce: 'n', method: 'double', input: 1 }
  const serve = (sealed: string) => here.serve(methods, sealed)
  await expect(serve(box.seal(JSON.stringify(call), 'peer call to other'))).rejects.toMatchObject({
    kind: 'forbidden',
  })
  await expect(serve('v1.key_x.AAAA')).rejects.toMatchObject({ kind: 'forbidden' })
  await expect(serve('')).rejects.toMatchObject({ kind: 'forbidden' })
  const reply = await serve(box.seal(JSON.stringify(call), 'peer call to here'))
  expect(() => box.open(reply, 'peer reply from here to another')).toThrow()
  expect(JSON.parse(box.open(reply, 'peer reply from here to n'))).toEqual({ value: 2 })
})

it('a machine that is away, or cannot be reached, is named', async () => {
  const peers = new Peers(box, 'here', log)
  const away = { kind: 'unavailable', message: 'The machine other is away' }
  await expect(peers.call({ ...other, isAlive: false }, 'double', 1)).rejects.toMatchObject(away)
  await expect(peers.call({ ...other, address: '' }, 'double', 1)).rejects.toMatchObject(away)
  await expect(peers.call({ ...other, address: 'http://127.0.0.1:1' }, 'double', 1)).rejects.toMatchObject(
    away,
  )
  await expect(peers.call({ ...other, host: 'elsewhere' }, 'double', 1)).rejects.toMatchObject({
    message: 'The machine other cannot be reached from here',
    details: expect.stringContaining('LONGSHORE_HOST'),
  })
})
