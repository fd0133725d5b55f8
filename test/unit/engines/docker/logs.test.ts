import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { engineTime, linesAfter, readLogLines } from '../../../../src/engines/docker/logs.ts'
import type { EngineLogLine } from '../../../../src/engines/engine.ts'

const at = (n: number) => `2026-01-02T03:04:05.${String(n).padStart(9, '0')}Z`

function frame(stream: 1 | 2, text: string | Buffer): Buffer {
  const payload = Buffer.from(text as string)
  const header = Buffer.alloc(8)
  header[0] = stream
  header.writeUInt32BE(payload.length, 4)
  return Buffer.concat([header, payload])
}

async function read(bytes: Buffer, chunkSize = bytes.length || 1): Promise<EngineLogLine[]> {
  async function* chunks() {
    for (let from = 0; from < bytes.length; from += chunkSize) yield bytes.subarray(from, from + chunkSize)
  }
  const lines: EngineLogLine[] = []
  for await (const line of readLogLines(chunks())) lines.push(line)
  return lines
}

describe('readLogLines', () => {
  it('tells streams apart, however the bytes arrive', async () => {
    const bytes = Buffer.concat([
      frame(1, `${at(1)} out\n`),
      frame(2, `${at(2)} érr\r\n`),
      frame(1, `${at(3)} \n`),
      frame(1, `${at(4)} no newline at the end`),
    ])
    const expected = [
      { timestamp: at(1), stream: 'stdout', message: 'out' },
      { timestamp: at(2), stream: 'stderr', message: 'érr' },
      { timestamp: at(3), stream: 'stdout', message: '' },
      { timestamp: at(4), stream: 'stdout', message: 'no newline at the end' },
    ]
    for (const size of [1, 2, 3, 7, 8, 9, 50, 10_000]) expect(await read(bytes, size)).toEqual(expected)
  })

  it('joins what the engine split, with the other stream between', async () => {
    const bytes = Buffer.concat([
      frame(1, `${at(1)} one `),
      frame(2, `${at(2)} other\n`),
      frame(1, `${at(1)} line\n`),
      frame(1, `${at(5)} next\n`),
    ])
    expect(await read(bytes)).toEqual([
      { timestamp: at(2), stream: 'stderr', message: 'other' },
      { timestamp: at(1), stream: 'stdout', message: 'one line' },
      { timestamp: at(5), stream: 'stdout', message: 'next' },
    ])
  })

  it('cuts a line at 8 KiB, says so, and breaks no character', async () => {
    const exact = 'x'.repeat(8192)
    const long = 'é'.repeat(40_000)
    const [first, second, third] = await read(
      Buffer.concat([
        frame(1, `${at(1)} ${exact}\r\n`),
        frame(1, `${at(2)} ${long}\n`),
        frame(1, `${at(3)} after\n`),
      ]),
    )
    expect(first?.message).toBe(exact)
    expect(Buffer.byteLength(second!.message)).toBeLessThanOrEqual(8192)
    expect(second?.message).toMatch(/^é+ … \[line cut at 8 KiB\]$/)
    expect(third?.message).toBe('after')
  })

  it('survives any payload', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 200 })), async (payloads) => {
        const bytes = Buffer.concat(
          payloads.map((one, n) =>
            frame(1, Buffer.concat([Buffer.from(`${at(n)} `), one, Buffer.from('\n')])),
          ),
        )
        const lines = await read(bytes, 13)
        expect(lines.length).toBeGreaterThanOrEqual(payloads.length)
        expect(lines.every((line) => !line.message.includes('\n'))).toBe(true)
      }),
    )
  })
})

describe('time of a line', () => {
  it('keeps nanoseconds both ways', () => {
    expect(engineTime(at(123_456_789))).toBe(`${Date.parse('2026-01-02T03:04:05Z') / 1000}.123456789`)
    expect(engineTime('2026-01-02T03:04:05.1Z')).toBe(engineTime(at(100_000_000)))
    expect(engineTime('2026-01-02T03:04:05Z')).toBe(engineTime(at(0)))
    expect(() => engineTime('yesterday')).toThrow(RangeError)
  })

  it('leaves out the instant itself and what came before', async () => {
    async function* lines(): AsyncGenerator<EngineLogLine> {
      for (const n of [1, 2, 3]) yield { timestamp: at(n), stream: 'stdout', message: String(n) }
    }
    const messagesAfter = async (since: string | null) => {
      const messages: string[] = []
      for await (const line of linesAfter(lines(), since)) messages.push(line.message)
      return messages
    }
    expect(await messagesAfter(null)).toEqual(['1', '2', '3'])
    expect(await messagesAfter(at(1))).toEqual(['2', '3'])
    expect(await messagesAfter(at(3))).toEqual([])
  })
})
