import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { AppError } from '../../../src/errors.ts'
import type { UploadReceiver } from '../../../src/operations/core/call.ts'
import {
  base,
  goodToken,
  raw,
  type ScriptedServer,
  send,
  startScripted,
} from '../../../testkit/api/scripted-server.ts'
import { until } from '../../../testkit/until.ts'

let on: ScriptedServer
afterEach(() => on.server.close())

interface Seen {
  secret: string
  bytes: number
  hash: string
  declared: number | null
}

/** A receiver that only counts, with a limit like the real one. */
function countingReceiver(
  limit = Number.POSITIVE_INFINITY,
): UploadReceiver & { seen: Seen[]; failed: unknown[] } {
  const seen: Seen[] = []
  const failed: unknown[] = []
  return {
    seen,
    failed,
    async receive(secret, body, declared) {
      if (secret === 'unknown') throw new AppError('not-found', 'Upload address not found')
      const hash = createHash('sha256')
      let bytes = 0
      try {
        for await (const chunk of body) {
          bytes += chunk.length
          if (bytes > limit) throw new AppError('too-large', 'Upload too large')
          hash.update(chunk)
        }
      } catch (error) {
        failed.push(error)
        throw error
      }
      seen.push({ secret, bytes, hash: hash.digest('hex'), declared })
    },
  }
}

function curl(args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('curl', ['-sS', '-w', '%{http_code}', ...args])
    let text = ''
    child.stdout.on('data', (chunk) => {
      text += chunk
    })
    child.on('error', reject).on('close', () => resolve(text))
  })
}

it('curl -T sends a file of any type, with a length or chunked', async () => {
  const uploads = countingReceiver()
  on = await startScripted({ uploads })
  const folder = await mkdtemp(path.join(tmpdir(), 'upload-'))
  const file = path.join(folder, 'a.tgz')
  const content = Buffer.alloc(3_000_000, 'abc')
  await writeFile(file, content)
  const answers = [
    await curl(['-T', file, `${on.url}/uploads/s3cr3t`]),
    await curl(['-T', file, '-H', 'Transfer-Encoding: chunked', `${on.url}/uploads/s3cr3t`]),
    await curl([
      '-T',
      file,
      '-H',
      'Content-Type: not a type',
      '-H',
      'Expect: 100-continue',
      `${on.url}/uploads/s3cr3t`,
    ]),
    await curl(['-T', file, '-H', 'Content-Type: application/json', `${on.url}/uploads/s3cr3t`]),
  ]
  await rm(folder, { recursive: true })
  for (const answer of answers) expect(answer).toMatch(/^\{"message":"Upload received.*\}200$/)
  const hash = createHash('sha256').update(content).digest('hex')
  expect(uploads.seen.map((each) => each.declared)).toEqual([3_000_000, null, 3_000_000, 3_000_000])
  for (const each of uploads.seen) expect(each).toMatchObject({ secret: 's3cr3t', bytes: 3_000_000, hash })
  expect(on.logged()).not.toContain('s3cr3t')
})

it('512 MiB are streamed without being kept in memory', async () => {
  const counting = countingReceiver()
  const before = process.memoryUsage().rss
  let peak = before
  const uploads: UploadReceiver = {
    receive: (secret, body, declared) =>
      counting.receive(
        secret,
        watched(body, () => (peak = Math.max(peak, process.memoryUsage.rss()))),
        declared,
      ),
  }
  on = await startScripted({ uploads })
  const folder = await mkdtemp(path.join(tmpdir(), 'upload-'))
  const file = path.join(folder, 'large')
  await writeFile(file, '')
  await truncate(file, 512 * 1_048_576)
  expect(await curl(['-T', file, `${on.url}/uploads/s`])).toMatch(/200$/)
  await rm(folder, { recursive: true })
  expect(counting.seen[0]!.bytes).toBe(512 * 1_048_576)
  expect(peak - before).toBeLessThan(256 * 1_048_576)
})

async function* watched(body: AsyncIterable<Buffer>, look: () => void): AsyncGenerator<Buffer> {
  for await (const chunk of body) {
    look()
    yield chunk
  }
}

it('an error before or during the body reaches the sender completely', async () => {
  const uploads = countingReceiver(2_000_000)
  on = await startScripted({ uploads })
  const put = (secret: string, bytes: number) =>
    fetch(`${on.url}/uploads/${secret}`, { method: 'PUT', body: new Uint8Array(bytes) })
  for (let turn = 0; turn < 5; turn += 1) {
    const unknown = await put('unknown', 20_000_000)
    expect(unknown.status).toBe(404)
    expect(await unknown.json()).toEqual({ error: 'Upload address not found' })
    const large = await put('s', 20_000_000)
    expect(large.status).toBe(413)
    expect(await large.json()).toEqual({ error: 'Upload too large' })
  }
  expect((await put('s', 10)).status).toBe(200)
})

it('after an error during a body the same connection serves the next request', async () => {
  on = await startScripted({ uploads: countingReceiver(2_000_000) })
  const size = 20_000_000
  const refused = [
    `PUT /uploads/s HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${size}\r\n\r\n`,
    `POST ${base}/app HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${goodToken}\r\nContent-Type: application/json\r\nContent-Length: ${size}\r\n\r\n`,
  ]
  const next = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'
  for (const head of refused) {
    const bytes = Buffer.concat([Buffer.from(head), Buffer.alloc(size, 'x'), Buffer.from(next)])
    const text = await raw(on.port, bytes, (all) => all.includes('"ok"'))
    expect([...text.matchAll(/HTTP\/1.1 (\d+)/g)].map((match) => match[1])).toEqual(['413', '200'])
  }
  // Chunked: the error is sent after a part was read.
  const chunk = `${(1_000_000).toString(16)}\r\n${'x'.repeat(1_000_000)}\r\n`
  const head = refused[1]!.replace(/Content-Length: \d+/, 'Transfer-Encoding: chunked')
  const text = await raw(on.port, `${head}${chunk.repeat(10)}0\r\n\r\n${next}`, (all) => all.includes('"ok"'))
  expect([...text.matchAll(/HTTP\/1.1 (\d+)/g)].map((match) => match[1])).toEqual(['413', '200'])
})

it('a sender that disconnects fails the receiver, and is not logged as a bug', async () => {
  const uploads = countingReceiver()
  on = await startScripted({ uploads })
  const head = 'PUT /uploads/s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nabc'
  const socket = connect(on.port, '127.0.0.1', () =>
    socket.write(head, () => setImmediate(() => socket.destroy())),
  )
  await until(() => uploads.failed.length === 1)
  expect(uploads.failed[0]).toMatchObject({ kind: 'invalid', message: 'The upload was interrupted' })
  await until(() => on.logged().includes('/uploads/:secret'))
  expect(on.logged()).not.toContain('"level":50')
})

it('the connection of a silent sender is closed', async () => {
  const uploads = countingReceiver()
  on = await startScripted({ uploads, bodyTimeoutMs: 50 })
  await raw(on.port, 'PUT /uploads/s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nabc')
  expect(uploads.failed).toHaveLength(1)
})

it('only PUT is accepted, and a failing receiver gives 500 without the cause', async () => {
  on = await startScripted({
    uploads: {
      receive: async () => {
        throw new Error('disk words')
      },
    },
  })
  expect((await send(on, 'POST', '/uploads/s', {})).status).toBe(405)
  const answer = await send(on, 'PUT', '/uploads/s', { a: 1 })
  expect(answer.status).toBe(500)
  expect(JSON.stringify(answer.json)).not.toContain('disk words')
  await until(() => on.logged().includes('disk words'))
})
