import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutMark } from '../../../src/domain/environments/log-lines.ts'
import { createMask } from '../../../src/domain/environments/secret-masker.ts'
import { readLogLines } from '../../../src/engines/docker/logs.ts'
import { LineSplitter } from '../../../src/engines/line-splitter.ts'

const m = '***SECRET***'
const base64 = (text: string) => Buffer.from(text).toString('base64')

describe('the mask of secrets in log lines', () => {
  const secret = 'p@ss w/rd+"x"é'
  const mask = createMask([secret, 'tiny5', 'another-one', 'another-one-longer'])

  it.each([
    ['the value itself', `key=${secret};`, `key=${m};`],
    ['twice', `${secret}${secret}`, m],
    ['a JSON string', JSON.stringify({ key: secret }), `{"key":"${m}"}`],
    ['JSON in a JSON string', JSON.stringify(JSON.stringify({ key: secret })), `"{\\"key\\":\\"${m}\\"}"`],
    ['encodeURIComponent', `?k=${encodeURIComponent(secret)}&b=1`, `?k=${m}&b=1`],
    ['a form body', `${new URLSearchParams({ k: secret })}&b=1`, `k=${m}&b=1`],
    ['lower-case percent codes', `${encodeURIComponent(secret).toLowerCase()}!`, `${m}!`],
    ['the longest of several', 'another-one-longer!', `${m}!`],
    ['the shorter one too', 'another-one longer!', `${m} longer!`],
    ['one in color, and leaves the color', '\u001b[32manother-one\u001b[0m!', `\u001b[32m${m}\u001b[0m!`],
    ['one that color codes interrupt', 'an\u001b[1mother\u001b[0;31m-one\u001b]0;x\u0007!', `${m}!`],
    ['one that NUL and zero-width characters interrupt', 'ano\u0000the\u200br-o\ufe0fne\r!', `${m}!`],
  ])('E2 hides %s', (_what, line, shown) => {
    expect(mask(line)).toBe(shown)
  })

  it('leaves other lines as they are, and values of less than 6 characters', () => {
    for (const line of ['', 'a', 'listening on port 3000', 'tiny5 is short', `cut${cutMark}`])
      expect(mask(line)).toBe(line)
    expect(createMask([])('anything')).toBe('anything')
  })

  it('E2 hides base64, alone, with a line feed, and at every position of a longer text', () => {
    const wrapped = createMask(['hunter2-hunter2'])
    for (const before of ['', 'u', 'us', 'user:', 'user-x:'])
      for (const after of ['', '\n', '&more', 'xy'])
        for (const encoding of ['base64', 'base64url'] as const) {
          const line = Buffer.from(`${before}hunter2-hunter2${after}`).toString(encoding)
          const shown = wrapped(`Authorization: Basic ${line} end`)
          expect(shown).toContain(m)
          expect(shown).not.toContain(line.slice(4, -4))
          const left = shown.replace(m, '').replace('Authorization: Basic ', '').replace(' end', '')
          expect(left.length).toBeLessThanOrEqual(Math.ceil(((before.length + after.length) * 8) / 6) + 4)
        }
    expect(wrapped(base64('hunter2-hunter2'))).toBe(m)
  })

  it('E2 hides each line of a secret of several lines, and base64 that a tool wrapped', () => {
    const key = ['-----BEGIN KEY-----', 'QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=', '-----END KEY-----'].join(
      '\n',
    )
    const ofKey = createMask([key])
    for (const line of key.split('\n')) expect(ofKey(`  ${line}`)).toBe(`  ${m}`)
    const long = 'x1y2z3'.repeat(40)
    const ofLong = createMask([long])
    for (const width of [76, 64])
      for (const line of base64(long).match(new RegExp(`.{1,${width}}`, 'g'))!) expect(ofLong(line)).toBe(m)
  })

  it('E2 hides the first 500 lines of secrets, and all of them as JSON writes them', () => {
    const lines = Array.from({ length: 5_000 }, (_, index) => `line-${1_000 + index}.`)
    const ofMany = createMask([lines.join('\n')])
    expect(['line-1000.', 'line-1499.'].map(ofMany)).toEqual([m, m])
    // Preparing the others would hold the event loop for tenths of a second.
    expect(ofMany('line-1500.')).toBe('line-1500.')
    expect(ofMany(JSON.stringify({ key: lines.join('\n') }))).not.toMatch(/line-/)
  })

  it('E2 hides the beginning of a secret at the end of a line that was cut', () => {
    const value = 'abcdefghij'
    const ofCut = createMask([value])
    for (let kept = 2; kept <= value.length; kept += 1)
      expect(ofCut(`...${value.slice(0, kept)}${cutMark}`)).toBe(`...${m}${cutMark}`)
    expect(ofCut(`...abcdefgh`)).toBe('...abcdefgh')
  })

  it('E2 hides a secret that came in two chunks, or lies across the cut of a long line, on both engines', async () => {
    const value = 'sk_live_0123456789'
    const mask = createMask([value])
    for (const output of [`key ${value}\n`, `${'z'.repeat(8_150)}${value}\n`]) {
      for (let at = 1; at < output.length; at += output.length > 100 ? 1_001 : 1) {
        const chunks = [output.slice(0, at), output.slice(at)].map((text) => Buffer.from(text))
        const lines: string[] = []
        const splitter = new LineSplitter((line) => lines.push(mask(line)))
        for (const chunk of chunks) splitter.push(chunk)
        const framed = chunks.map((chunk) => {
          const payload = Buffer.concat([Buffer.from('2026-11-22T10:00:00.000000001Z '), chunk])
          const header = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0])
          header.writeUInt32BE(payload.length, 4)
          return Buffer.concat([header, payload])
        })
        const source = (async function* () {
          yield* framed
        })()
        for await (const { message } of readLogLines(source)) lines.push(mask(message))
        expect(lines).toHaveLength(2)
        for (const line of lines) {
          expect(line).toContain(m)
          expect(line).not.toContain('sk_')
        }
      }
    }
  })

  it('agrees with a plain search on random secrets and lines', () => {
    const short = fc.string({ unit: fc.constantFrom('a', 'b', '1'), minLength: 6, maxLength: 9 })
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '1', ' '), maxLength: 60 })
    fc.assert(
      fc.property(fc.array(short, { minLength: 1, maxLength: 5 }), text, short, text, (values, a, b, c) => {
        const line = `${a}${b}${c}`
        const shown = createMask(values)(line)
        const found = values.some((value) => line.includes(value))
        expect(shown === line).toBe(!found)
        for (const value of values) expect(shown).not.toContain(value)
      }),
    )
  })

  it('takes no longer for secrets that are made to be slow: such a line is hidden whole', () => {
    const values = Array.from({ length: 500 }, (_, index) => `${'a'.repeat(500)}${index}`)
    const slow = createMask(values)
    const line = 'a'.repeat(8_000)
    const before = process.cpuUsage()
    for (let count = 0; count < 100; count += 1) expect(slow(line)).toBe(m)
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(5_000)
  })

  it('handles half a surrogate pair and binary text', () => {
    const odd = createMask(['\ud800abcdef', 'é\u0001\u0002xyzé'])
    expect(odd('\ud800abcdef')).toBe(m)
    expect(odd('[é\u0001\u0002xyzé]')).toBe(`[${m}]`)
  })
})
