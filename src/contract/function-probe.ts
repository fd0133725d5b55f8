import { z } from 'zod'
import { environmentRef, isoTime } from './fields.ts'
import { operation } from './operation.ts'

const count = z.number().int()
const seconds = z.number()

/** One step of the load: so many requests at a time. */
export const probeLevel = z.object({
  concurrency: count,
  requests: count,
  /** Answered with a status below 400. */
  ok: count,
  answered4xx: count,
  /** Answered 5xx by the function. */
  answered5xx: count,
  /** 503 of the platform: no container had a slot in time. */
  refused: count,
  /** No answer at all. */
  failed: count,
  requestsPerSecond: z.number(),
  p50Seconds: seconds,
  p95Seconds: seconds,
  /** The most containers running during this step. */
  containers: count,
})
export type ProbeLevel = z.output<typeof probeLevel>

export const probeCheck = z.object({
  rule: z.enum(['F1', 'F2', 'F3']),
  /** Null where this probe could not see it. */
  holds: z.boolean().nullable(),
  because: z.string(),
})
export type ProbeCheck = z.output<typeof probeCheck>

/** A bounded load on a function, and what it says about its settings. Takes at most 20 s. */
export const probeFunction = operation({
  id: 'probe-function',
  method: 'POST',
  path: '/app-env/function-probe',
  summary:
    'Sends a bounded load to a function: cold start, containers added, refusals, latency; proposes settings.',
  policy: { on: 'environment' },
  input: z.strictObject({
    ...environmentRef,
    path: z
      .string()
      .max(2_000)
      .regex(/^\/[\x21-\x7e]*$/, 'must begin with / and hold no spaces')
      .default('/')
      .describe('What is asked for with GET'),
    requests: z.number().int().min(1).max(2_000).default(300).describe('In all'),
    concurrency: z
      .number()
      .int()
      .min(1)
      .max(200)
      .optional()
      .describe('Most at a time; default just above one container'),
  }),
  output: z.object({
    appEnvId: z.string(),
    startedAt: isoTime,
    tookSeconds: seconds,
    /** The time limit ended it before every request was sent. */
    cutShort: z.boolean(),
    /** From a request at zero containers to its answer; null where containers were running. */
    coldStartSeconds: seconds.nullable(),
    containersBefore: count,
    mostContainers: count,
    levels: z.array(probeLevel),
    checks: z.array(probeCheck),
    proposal: z.object({
      containerConcurrency: count,
      minScale: count,
      because: z.array(z.string()),
    }),
  }),
})
