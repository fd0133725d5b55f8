import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it } from 'vitest'
import { systemClock, timestamp } from '../../../src/clock.ts'
import { tokenHash } from '../../../src/domain/access/tokens.ts'
import { newId } from '../../../src/domain/ids.ts'
import { createUploadReceiver } from '../../../src/operations/deployments/upload-receiver.ts'
import { insertUpload } from '../../../src/store/repositories/uploads.ts'
import { openTestStore } from '../../../testkit/store/test-store.ts'

it('an address takes one PUT, whatever another one waits for between its looks', async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'longshore-uploads-'))
  const { db, remove } = await openTestStore(dir)
  const secret = 'one-address'
  const upload = {
    uploadId: newId('dep'),
    appEnvId: newId('env'),
    extension: '.tgz',
    state: 'requested',
  } as const
  const now = timestamp(systemClock.wallMs())
  const expiresAt = timestamp(systemClock.wallMs() + 900_000)
  await db.write((tx) => insertUpload(tx, { ...upload, expiresAt }, tokenHash(secret), now))
  const stored: string[] = []
  const gates: (() => void)[] = []
  const receiver = createUploadReceiver({
    db,
    clock: systemClock,
    files: {
      async receive(_key, body) {
        for await (const chunk of body) stored.push(Buffer.from(chunk).toString())
        return 1
      },
    },
    elsewhere: () => new Promise((resolve) => gates.push(() => resolve(null))),
  })
  const put = (text: string) =>
    receiver.receive(
      secret,
      (async function* () {
        yield Buffer.from(text)
      })(),
      null,
    )
  const begun = async (count: number) => expect.poll(() => gates.length).toBe(count)

  const [first, second, late] = [put('first'), put('second'), put('late')]
  await begun(3)
  gates[0]!()
  gates[1]!()
  const ends = await Promise.allSettled([first, second])
  expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  gates[2]!()
  await expect(late).rejects.toMatchObject({ message: 'This upload address was used before' })
  expect(stored).toHaveLength(1)
  await db.close()
  await remove()
  await rm(dir, { recursive: true, force: true })
})
