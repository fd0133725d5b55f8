// npm run bench -- log-masking: CPU time of masking secrets in log lines, beside what keeping the lines costs.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { cutMark } from '../src/domain/environments/log-lines.ts'
import { createMask } from '../src/domain/environments/secret-masker.ts'
import { LogStore } from '../src/files/log-store.ts'

const words =
  'GET POST /api/orders/1234 200 404 in 12 ms user=ada request handled cache miss level=info retrying'.split(
    ' ',
  )
const lineOf = (index: number, length: number) => {
  let line = `2026-11-22T10:00:00.000Z [${index}]`
  for (let turn = index; line.length < length; turn += 1) line += ` ${words[(turn * 7) % words.length]}`
  return line.slice(0, length)
}
const secretsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => `sk_${index}_${randomBytes(18).toString('base64')}`)

/** CPU time of this process, so that other work of the machine does not count. */
function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

function measure(name: string, lines: readonly string[], work: (line: string) => unknown): void {
  for (const line of lines) work(line)
  const started = cpuSeconds()
  let rounds = 0
  while (cpuSeconds() - started < 1) {
    for (const line of lines) work(line)
    rounds += 1
  }
  const seconds = cpuSeconds() - started
  const bytes = lines.reduce((sum, line) => sum + line.length, 0) * rounds
  const perSecond = Math.round((lines.length * rounds) / seconds).toLocaleString('en')
  console.log(
    `${name.padEnd(52)} ${(bytes / seconds / 1e6).toFixed(1).padStart(8)} MB/s  ${perSecond} lines/s`,
  )
}

for (const length of [100, 8_000]) {
  const lines = Array.from({ length: length > 1_000 ? 100 : 5_000 }, (_, index) => lineOf(index, length))
  for (const count of [1, 10, 100, 500])
    measure(`masking, ${length} characters, ${count} secrets`, lines, createMask(secretsOf(count)))
}

for (const length of [100, 8_000]) {
  const lines = Array.from({ length: length > 1_000 ? 100 : 5_000 }, (_, index) =>
    JSON.stringify({ msg: `say "${lineOf(index, length)}"`, url: '/a%20b?c=d&e=f' }),
  )
  measure(`masking, ${length} characters of JSON, 10 secrets`, lines, createMask(secretsOf(10)))
  const quoted = secretsOf(10).map((value) => `${value}"'`)
  measure(`masking, ${length} characters of JSON, 10 secrets with quotes`, lines, createMask(quoted))
}

const slowest = createMask(Array.from({ length: 500 }, (_, index) => `${'a'.repeat(500)}${index}`))
measure(
  'masking, secrets and lines made to be slow',
  ['a'.repeat(8_000), `${'a'.repeat(8_000)}${cutMark}`],
  slowest,
)

for (const [count, length] of [
  [10, 40],
  [500, 500],
] as const) {
  const values = secretsOf(count).map((value) =>
    value.repeat(Math.ceil(length / value.length)).slice(-length),
  )
  const started = cpuSeconds()
  createMask(values)
  const tookMs = (cpuSeconds() - started) * 1_000
  console.log(`making the mask of ${count} secrets of ${length} characters: ${tookMs.toFixed(1)} ms`)
}

const count = 300_000
const kept = Array.from({ length: 500 }, (_, index) => ({
  at: '2026-11-22T10:00:00.000000001Z',
  stream: 'stdout' as const,
  type: 'RUNTIME' as const,
  podName: 'pod',
  contentId: 'dep_1',
  message: lineOf(index, 100),
}))
for (const [name, mask] of [
  ['keeping lines, without masking', (line: string) => line],
  ['keeping lines, with the mask of 10 secrets', createMask(secretsOf(10))],
] as const) {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-bench-'))
  const store = new LogStore(dir)
  const started = cpuSeconds()
  for (let index = 0; index < count; index += kept.length) {
    store.append(
      'env_bench',
      kept.map((line) => ({ ...line, message: mask(line.message) })),
    )
  }
  await store.close()
  const perSecond = Math.round(count / (cpuSeconds() - started)).toLocaleString('en')
  console.log(`${name.padEnd(52)} ${perSecond} lines/s`)
  rmSync(dir, { recursive: true, force: true })
}
