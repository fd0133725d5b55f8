import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AppError } from '../../../src/errors.ts'
import { BucketFiles } from '../../../src/files/bucket.ts'
import { openFiles } from '../../../src/files/open.ts'
import { FaultyLink } from '../../../testkit/files/faulty-link.ts'
import {
  noS3Server,
  S3Server,
  s3Credentials,
  s3Servers,
  withS3Credentials,
} from '../../../testkit/files/s3-server.ts'
import { filesSuite } from '../../../testkit/files/suite.ts'

withS3Credentials()

async function* body(...chunks: (string | Buffer)[]) {
  for (const chunk of chunks) yield Buffer.from(chunk as string)
}

const failure = (promise: Promise<unknown>): Promise<AppError> =>
  promise.then(
    (value) => {
      throw new Error(`it came back with ${JSON.stringify(value)}`)
    },
    (error) => error,
  )

function filesAt(endpoint: string, prefix: string, idleMs = 60_000): BucketFiles {
  const address = {
    kind: 'bucket',
    bucket: 'files',
    prefix: `${prefix}/`,
    endpoint,
    region: undefined,
  } as const
  return new BucketFiles(address, idleMs)
}

it.skipIf(noS3Server === null)(`${noS3Server}: the tests of buckets are left out`, () => {})

describe.each(s3Servers)('a bucket of %s', (program) => {
  let server: S3Server
  let dir: string
  beforeAll(async () => {
    server = await S3Server.start(program)
    dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-bucket-'))
  })
  afterAll(async () => {
    await server?.close()
    rmSync(dir, { recursive: true, force: true })
  })

  // moto answers 500 if a key is written twice at once.
  describe('as every storage', () =>
    filesSuite(() => filesAt(server.endpoint, 'suite'), { writesAtOnce: program !== 'moto_server' }))

  it('a lost bucket is unavailable with the remedy, and serves again by itself', async () => {
    const link = await FaultyLink.start(server.port)
    const files = filesAt(link.endpoint, 'lost')
    await files.put('uploads/a', body('a'))
    link.mode = 'refuse'
    const calls = [
      () => files.put('uploads/b', body('b')),
      () => files.localCopy('uploads/a', dir),
      () => files.text('uploads/a'),
      () => files.list('uploads'),
      () => files.remove('uploads/a'),
      () => files.tidy('uploads'),
    ]
    for (const call of calls) {
      const error = await failure(call())
      expect(error).toMatchObject({ kind: 'unavailable', message: 'The file storage does not answer' })
      expect(error.details).toContain('LONGSHORE_FILES_URL')
    }
    link.mode = 'pass'
    expect(await files.text('uploads/a')).toBe('a')
    expect(await files.text('uploads/b')).toBeNull()
    link.close()
  })

  it('a bucket that takes no byte is given up, and what it got is no file', async () => {
    const link = await FaultyLink.start(server.port)
    const files = filesAt(link.endpoint, 'slow', 1_000)
    async function* stalls() {
      yield Buffer.alloc(20 * 1024 ** 2)
      link.mode = 'stall'
      yield Buffer.alloc(20 * 1024 ** 2)
    }
    const error = await failure(files.put('uploads/a', stalls()))
    expect(error).toMatchObject({ kind: 'unavailable', message: 'The file storage does not answer' })
    link.close()
    expect(await filesAt(server.endpoint, 'slow').list('uploads')).toEqual([])
  })

  it('a copy that is cut short is an error, and no short file stays', async () => {
    const link = await FaultyLink.start(server.port)
    const files = filesAt(link.endpoint, 'cut')
    await files.put('uploads/a', body(Buffer.alloc(8 * 1024 ** 2, 'x')))
    link.cutAfterBytes = 3 * 1024 ** 2
    const copies = path.join(dir, 'copies')
    mkdirSync(copies)
    expect(await failure(files.localCopy('uploads/a', copies))).toMatchObject({ kind: 'unavailable' })
    expect(readdirSync(copies)).toEqual([])
    link.close()
  })

  it('a bucket that does not exist, and another installation, stop the start with one sentence', async () => {
    const url = (bucket: string) => `s3://${bucket}/start?endpoint=${server.endpoint}`
    const missing = await failure(openFiles(url('no-such-bucket'), dir, 'ins_a'))
    expect(missing).toMatchObject({ kind: 'unavailable' })
    expect(missing.details).toMatch(/NoSuchBucket.*check the bucket/)
    const { files, hasSharedFiles } = await openFiles(url('files'), dir, 'ins_a')
    expect(hasSharedFiles).toBe(true)
    await files.put('uploads/a', body('a'))
    await openFiles(url('files'), dir, 'ins_a')
    const other = await failure(openFiles(url('files'), dir, 'ins_b'))
    expect(other.message).toBe('LONGSHORE_FILES_URL names the files of another installation')
    expect(other.details).toContain('belongs to ins_a, this one is ins_b')
  })

  it.runIf(program === 'versitygw')('wrong credentials are named, never shown', async () => {
    process.env.AWS_SECRET_ACCESS_KEY = 'wrong-and-private'
    const error = await failure(filesAt(server.endpoint, 'refused').list('uploads'))
    process.env.AWS_SECRET_ACCESS_KEY = s3Credentials.AWS_SECRET_ACCESS_KEY
    expect(error).toMatchObject({ kind: 'unavailable', message: 'The file storage refuses access' })
    expect(error.details).toContain('AWS_SECRET_ACCESS_KEY')
    expect(error.details).not.toContain('wrong-and-private')
  })
})
