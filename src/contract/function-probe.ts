import { z } from 'zod'
import { environmentRef, isoTime } from './fields.ts'
import { operation } from './operation.ts'

const count = z.number().int()
const seconds = z.number()

/** One step of the load, at a fixed concurrency. */
const probeLevel = z.object({
  concurrency: count,
  requests: count,
  /** Responses with a status below 400. */
  ok: count,
  answered4xx: count,
  /** 5xx responses of the function. */
  answered5xx: count,
  /** 503 responses of the platform: no container had a free slot in time. */
  refused: count,
  /** Requests without a response. */
  failed: count,
  requestsPerSecond: z.number(),
  p50Seconds: seconds,
  p95Seconds: seconds,
  /** Peak number of running containers. */
  containers: count,
})
export type ProbeLevel = z.output<typeof probeLevel>

const probeCheck = z.object({
  rule: z.enum(['F1', 'F2', 'F3']),
  /** Null if the probe could not measure it. */
  holds: z.boolean().nullable(),
  because: z.string(),
})
export type ProbeCheck = z.output<typeof probeCheck>

/** Sends a bounded load to a function and proposes settings. Takes at most 20 s. */
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
      .describe('Path requested with GET'),
    requests: z.number().int().min(1).max(2_000).default(300).describe('In all'),
    concurrency: z
      .number()
      .int()
      .min(1)
      .max(200)
      .optional()
      .describe('Max concurrent requests; default just above one container'),
  }),
  output: z.object({
    appEnvId: z.string(),
    startedAt: isoTime,
    tookSeconds: seconds,
    /** The time limit ended the probe before all requests were sent. */
    cutShort: z.boolean(),
    /** Time from a request at zero containers to its response; null if containers were running. */
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
