import { createHash } from 'node:crypto'
import { operations } from '../../src/contract/index.ts'
import type { CallRecord } from './example-scenario.ts'
import type { Json } from './scenario-call.ts'

const idPattern = /\b([a-z]{2,3})_[a-z2-7]{20}\b/g
const fixedTime = '2026-11-01T12:00:00.000Z'
/** Usage of one container of one zCloud for a minute, at the rate of functions. */
const measuredUsage: Json = { containerSeconds: 60, zCloudSeconds: 60, billedZCloudSeconds: 180 }

/**
 * The proposal for a function that takes as long for four requests at a time as for one.
 * A pause of the machine changes it.
 */
const measuredProposal: Json = {
  containerConcurrency: 20,
  minScale: 1,
  because: [
    'containerConcurrency 20 stays: one container took 4 at a time with p95 0.06 s, 0.06 s alone.',
    'minScale 1 stays: no cold start was seen.',
  ],
}

/** Makes the scenario reproducible: ids by order, one time, one address, no token. */
export function asExamples(played: readonly CallRecord[]): Record<string, { input: Json; answer: Json }> {
  const ids = new Map<string, string>()
  const idOf = (id: string, prefix: string) => {
    const known = ids.get(id)
    if (known) return known
    const count = [...ids.keys()].filter((other) => other.startsWith(prefix)).length + 1
    const digits = createHash('sha256').update(`${prefix}${count}`).digest('hex')
    const text = [...digits.slice(0, 20)].map((digit) => 'abcdefghijklmnop'[Number.parseInt(digit, 16)])
    ids.set(id, `${prefix}_${text.join('')}`)
    return ids.get(id) as string
  }
  const text = (value: string) =>
    value
      .replace(idPattern, (id, prefix) => idOf(id, prefix))
      .replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, fixedTime)
      .replace(/\b(ls[ue])_[A-Za-z0-9]{40,}\b/g, '$1_shown-once')
      .replace(/\bses_[0-9a-f]{24}\b/g, 'ses_a704d079eaacade0a05d8059')
      .replace(/(?<=\bv1\.key_[a-p]{20}\.)[\w-]{100,}/g, 'sealed')
      .replace(/^[\w-]{43}$/, 'i6reQKdh1JVZDhfbtpcOCNHnk8XZc4IzDyQPIi5sCP8')
      .replace(/whsec_[A-Za-z0-9+/]{43}=/g, 'whsec_shown-once')
      .replace(/(\/uploads\/|\/console\/secret\/)[\w-]+/g, '$1one-time-secret')
      .replace(/http:\/\/127\.0\.0\.1:\d+/g, 'http://localhost:8080')
      .replace(/\b([a-z-]+-(?:prod|nightly))-[a-z2-7]{10}\b/g, '$1-abcdefghij')
      .replace(/\.localhost:\d+/g, '.localhost:8081')
      .replace(/\b\d+(?:\.\d+)? s\b/g, '0.06 s')
      .replace(/\b[0-9a-f]{64}\b/g, 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  const clean = (value: unknown, key = ''): unknown => {
    if (key === 'traceId' && value !== null) return '4bf92f3577b34da6a3ce929d0e0e4736'
    // What an authenticator signs.
    if (key === 'clientDataJSON' || key === 'attestationObject') return 'eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIn0'
    if (typeof value === 'string') return text(value)
    // Measured values differ between runs.
    if (typeof value === 'number' && key === 'requestsPerSecond') return 16
    if (typeof value === 'number' && /^(took|p\d\d)Seconds$/.test(key)) return 0.06
    if (typeof value === 'number' && /containerSeconds|zCloudSeconds/i.test(key)) return measuredUsage[key]
    if (key === 'proposal') return measuredProposal
    if (key === 'hours') return [{ hour: fixedTime, ...measuredUsage }]
    // Another point begins every ten minutes.
    if (key === 'points' && Array.isArray(value)) return value.slice(0, 1).map((one) => clean(one))
    if (typeof value === 'number') return value
    if (Array.isArray(value)) return value.map((one) => clean(one, key))
    if (value === null || typeof value !== 'object') return value
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, clean(one, name)]))
  }
  const examples: Record<string, { input: Json; answer: Json }> = {}
  // The first call of an operation is its example.
  for (const { row, input, answer } of played) {
    const cleaned = { input: clean(input) as Json, answer: clean(answer) as Json }
    examples[row.id] ??= cleaned
  }
  return Object.fromEntries(operations.flatMap(({ id }) => (examples[id] ? [[id, examples[id]]] : [])))
}
