import { execFileSync, spawnSync } from 'node:child_process'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { cutMark } from '../../../src/domain/environments/log-lines.ts'
import { createMask } from '../../../src/domain/environments/secret-masker.ts'

const m = '***SECRET***'
const json = (text: string) => JSON.stringify(text).slice(1, -1)
const escapedUnits = (text: string, which: RegExp) =>
  json(text).replace(which, (one) =>
    [...one].map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
  )
const bytesOf = (text: string, write: (byte: number) => string) => [...Buffer.from(text)].map(write).join('')
const hex = (byte: number) => byte.toString(16).padStart(2, '0')

/** How programs write a value. Those of other languages are written as these do it. */
const encodings: Record<string, (text: string) => string> = {
  itself: (text) => text,
  'JSON.stringify': json,
  'PHP json_encode': (text) => escapedUnits(text, /[^\x00-\x7f]/g).replaceAll('/', '\\/'),
  'Go encoding/json': (text) => escapedUnits(text, /[<>&\u2028\u2029]/g),
  'Python json.dumps': (text) => escapedUnits(text, /[^\x00-\x7f]/g),
  'Python repr of bytes': (text) =>
    bytesOf(text.replaceAll('\\', '\\\\').replaceAll("'", "\\'"), (byte) =>
      byte < 0x20 || byte > 0x7e ? `\\x${hex(byte)}` : String.fromCharCode(byte),
    ),
  'Node util.inspect': (text) => inspect(text).slice(1, -1),
  YAML: (text) => stringify(text, { lineWidth: 0, defaultStringType: 'QUOTE_DOUBLE' }).trim().slice(1, -1),
  'YAML in single quotes': (text) => text.replaceAll("'", "''"),
  'sh -x': (text) => text.replaceAll("'", `'"'"'`),
  'bash -x': (text) => text.replaceAll("'", `'\\''`),
  'printf %q': (text) => text.replace(/[^\w./:=@%+,\x80-\uffff-]/g, '\\$&'),
  "bash $''": (text) =>
    bytesOf(text.replace(/['\\]/g, '\\$&'), (byte) =>
      byte < 0x20 || byte > 0x7e ? `\\${byte.toString(8).padStart(3, '0')}` : String.fromCharCode(byte),
    ),
  encodeURIComponent,
  form: (text) => new URLSearchParams({ '': text }).toString().slice(1),
  'every byte in percent': (text) => bytesOf(text, (byte) => `%${hex(byte)}`),
  HTML: (text) =>
    text.replace(
      /[&<>"']/g,
      (one) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[one] ?? '&#39;',
    ),
}

describe('E2 secrets in the encodings of programs', () => {
  const secret = `p@ss w/rd+"x"&<é'y\\z>€😀`

  it.each(Object.entries(encodings))('hides one in %s, and nothing around it', (_name, encode) => {
    const mask = createMask([secret])
    expect(mask(`before ${encode(secret)} after`)).toBe(`before ${m} after`)
    expect(mask(`{"key":"${encode(secret)}"}`)).toBe(`{"key":"${m}"}`)
  })

  it('hides one in two encodings at once, whatever its characters are', () => {
    const names = Object.keys(encodings)
    const character = fc.constantFrom(...`abcXYZ019 /\\"'&<>+%=?#é€😀_-.$`)
    const value = fc.array(character, { minLength: 8, maxLength: 20 }).map((all) => `k3y${all.join('')}end`)
    fc.assert(
      fc.property(value, fc.constantFrom(...names), fc.constantFrom(...names), (text, inner, outer) => {
        const encoded = encodings[outer]!(encodings[inner]!(text))
        const shown = createMask([text])(`key: ${encoded}; next`)
        expect(shown).toBe(`key: ${m}; next`)
      }),
      { numRuns: 5_000 },
    )
  })

  it('hides what shells and Python print', () => {
    const mask = createMask([secret])
    const env = { ...process.env, KEY: secret, LC_ALL: 'C.UTF-8' }
    for (const [shell, script] of [
      ['sh', 'set -x; : "$KEY"'],
      ['bash', 'set -x; : "$KEY"'],
      ['bash', 'printf "%q\\n" "$KEY" >&2'],
      ['bash', 'declare -p KEY >&2'],
    ] as const) {
      const { stderr } = spawnSync(shell, ['-c', script], { env, encoding: 'utf8' })
      const lines = stderr.split('\n').map(mask).join('\n')
      expect(lines, stderr).toContain(m)
      expect(lines).not.toMatch(/rd.*x.*y/)
    }
    const python = `import json, os; k = os.environ['KEY']
for text in (json.dumps(k), repr(k), ascii(k), repr(k.encode()), json.dumps(json.dumps({'k': k}))): print(text)`
    const printed = execFileSync('python3', ['-c', python], { env, encoding: 'utf8' }).trim().split('\n')
    expect(printed).toHaveLength(5)
    for (const line of printed) {
      expect(mask(line), line).toContain(m)
      expect(mask(line)).not.toMatch(/rd.*x.*y/)
    }
  })

  it('hides one of which a stranger encodes a single letter, as in the path of a request', () => {
    const token = 'tok_4f9a8b7c6d'
    const mask = createMask([token])
    for (let at = 0; at < token.length; at += 1) {
      const path = `/a/${token.slice(0, at)}%${hex(token.charCodeAt(at))}${token.slice(at + 1)}/b`
      expect(mask(path)).toBe(`/a/${m}/b`)
    }
  })

  it('hides quotes at the ends of a value, and what a cut line still has of an encoded one', () => {
    const quoted = createMask([`"'quoted-value'"`])
    expect(quoted(`{"k":${JSON.stringify(`"'quoted-value'"`)}}`)).not.toMatch(/quoted|'/)
    const mask = createMask([secret])
    const encoded = json(secret)
    for (let kept = 4; kept < encoded.length; kept += 1) {
      const shown = mask(`key ${encoded.slice(0, kept)}${cutMark}`)
      expect(shown.startsWith(`key ${m}`), shown).toBe(true)
    }
  })

  it('hides one that is short without its quotes, as JSON and in URLs', () => {
    const value = `a"b"c"d"`
    const mask = createMask([value])
    for (const line of [value, JSON.stringify(value), encodeURIComponent(value)])
      expect(mask(line)).toContain(m)
  })

  it('leaves lines alone that only look encoded', () => {
    const mask = createMask(['hunter2-hunter2', `it's a "quoted" one`])
    for (const line of [
      'C:\\new\\temp\\users 12 % of 40%20 & &amp; \\u00e4 "x"',
      '{"a":"b \\"c\\"","path":"\\/x"}',
      '\\'.repeat(50),
      '%'.repeat(50),
      "it's a quoted word",
    ])
      expect(mask(line)).toBe(line)
  })

  it('takes time in proportion to the line, whatever is in it', () => {
    const mask = createMask([secret])
    const before = process.cpuUsage()
    for (const unit of ['\\', '%', '&', '\\x', '%25', '\\\\u00', '&#', '&amp;amp;', `\\"'`, '%c3'])
      for (let count = 0; count < 20; count += 1) mask(unit.repeat(Math.floor(8_000 / unit.length)))
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(5_000)
  })
})
