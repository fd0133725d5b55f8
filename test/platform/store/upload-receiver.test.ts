import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Clock, timestamp } from '../../../src/clock.ts'
import { tokenHash } from '../../../src/domain/access/tokens.ts'
import { newId } from '../../../src/domain/ids.ts'
import type { UploadReceiver } from '../../../src/operations/core/call.ts'
import { createUploadReceiver } from '../../../src/operations/deployments/upload-receiver.ts'
import type { Db } from '../../../src/store/db.ts'
import { insertUpload } from '../../../src/store/repositories/uploads.ts'
import { deferred } from '../../../testkit/deferred.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { openTestStore } from '../../../testkit/store/test-store.ts'

const secret = 'one-address'
const usedBefore = { message: 'This upload address was used before' }
let clock: TestClock
let db: Db
let close: () => Promise<void>
/** The archives that appeared in the storage that all control planes share. */
let stored: string[]

beforeEach(async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'longshore-uploads-'))
  const store = await openTestStore(dir)
  db = store.db
  close = async () => {
    await db.close()
    await store.remove()
    await rm(dir, { recursive: true, force: true })
  }
  clock = new TestClock()
  stored = []
  const upload = {
    uploadId: newId('dep'),
    appEnvId: newId('env'),
    extension: '.tgz',
    state: 'requested',
    expiresAt: timestamp(clock.wallMs() + 900_000),
  } as const
  await db.write((tx) => insertUpload(tx, upload, tokenHash(secret), timestamp(clock.wallMs())))
})
afterEach(() => close())

/** The receiver of one control plane. */
function receiverOf(node: string, own: { clock?: Clock; elsewhere?: () => Promise<null> } = {}) {
  return createUploadReceiver({
    ...{ db, clock, node },
    files: {
      async receive(_key, body) {
        let text = ''
        for await (const chunk of body) text += Buffer.from(chunk).toString()
        stored.push(text)
        return text.length
      },
    },
    ...own,
  })
}

const put = (receiver: UploadReceiver, text: string) =>
  receiver.receive(
    secret,
    (async function* () {
      yield Buffer.from(text)
    })(),
    null,
  )

const claimedUntil = async () =>
  (await db.read((tx) => tx.selectFrom('uploads').select('claimed_until').executeTakeFirst()))?.claimed_until

/** A PUT in the middle of its body, which then ends with `rest`, or breaks. */
async function begin(receiver: UploadReceiver) {
  const reading = deferred()
  const rest = deferred<string | Error>()
  const end = receiver.receive(
    secret,
    (async function* () {
      reading.resolve()
      const text = await rest.promise
      if (text instanceof Error) throw text
      yield Buffer.from(text)
    })(),
    null,
  )
  await Promise.race([reading.promise, end])
  return (text: string | Error) => {
    rest.resolve(text)
    return end
  }
}

it('an address takes one PUT, whatever another one waits for between its looks', async () => {
  const gates: (() => void)[] = []
  const receiver = receiverOf('north', {
    elsewhere: () => new Promise((resolve) => gates.push(() => resolve(null))),
  })
  const [first, second, late] = [put(receiver, 'first'), put(receiver, 'second'), put(receiver, 'late')]
  await expect.poll(() => gates.length).toBe(3)
  gates[0]!()
  gates[1]!()
  const ends = await Promise.allSettled([first, second])
  expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  gates[2]!()
  await expect(late).rejects.toMatchObject(usedBefore)
  expect(stored).toHaveLength(1)
})

it('an address takes one PUT of several at different control planes, however long the first takes', async () => {
  const [north, south] = [receiverOf('north'), receiverOf('south')]
  const goOn = await begin(north)
  await expect(put(south, 'second')).rejects.toMatchObject(usedBefore)
  for (let minute = 0; minute < 3; minute += 1) {
    for (let step = 0; step < 3; step += 1) {
      const before = await claimedUntil()
      await clock.advance(20_000)
      await expect.poll(claimedUntil).not.toBe(before)
    }
    await expect(put(south, 'later')).rejects.toMatchObject(usedBefore)
  }
  await goOn('first')
  await expect(put(south, 'last')).rejects.toMatchObject(usedBefore)
  expect(stored).toEqual(['first'])
})

it('after a transfer broke, another control plane takes the same address at once', async () => {
  const goOn = await begin(receiverOf('north'))
  await expect(goOn(new Error('the connection broke'))).rejects.toThrow('the connection broke')
  await put(receiverOf('south'), 'second')
  expect(stored).toEqual(['second'])
})

it('a control plane that was killed and is back takes the same address at once', async () => {
  await begin(receiverOf('north', { clock: new TestClock() }))
  await put(receiverOf('north'), 'again')
  expect(stored).toEqual(['again'])
})

it('a control plane that was paused for long stores nothing after another one took the address', async () => {
  const goOn = await begin(receiverOf('north', { clock: new TestClock() }))
  const south = receiverOf('south')
  await clock.advance(59_000)
  await expect(put(south, 'early')).rejects.toMatchObject(usedBefore)
  await clock.advance(1_000)
  await put(south, 'second')
  await expect(goOn('first')).rejects.toMatchObject(usedBefore)
  expect(stored).toEqual(['second'])
})
