import { z } from 'zod'
import { containers } from './app-envs.ts'
import { diagnosisCauses } from './diagnosis.ts'
import { id, line, lines } from './fields.ts'
import { functionConfigFields } from './function-config.ts'
import { jobConfigFields } from './job-config.ts'

export const remediationModes = ['off', 'observe', 'ask', 'auto'] as const

export const remediationActions = [
  'restart',
  'rollback',
  'scale',
  'function-limits',
  'apply-fix',
  'run-job',
  'notify',
  'call-agent',
] as const

/** Causes that are decisions of people, or symptoms that an alert names better, start no remediation. */
const neverTriggers = ['alert-firing', 'alert-misconfigured', 'pending-change', 'stopped', 'copy-waiting']

/** Unions are not portable to every model family, so each union of this file is one object with a check. */
const trigger = z
  .strictObject({ alertId: id.optional(), cause: z.enum(diagnosisCauses).optional() })
  .refine(
    ({ alertId, cause }) => (alertId === undefined) !== (cause === undefined),
    'must be {"alertId": "alr_…"} or {"cause": "crash-loop"}; diagnosis-causes lists the causes',
  )
  .refine(
    ({ cause = '' }) => !neverTriggers.includes(cause),
    'this cause starts no remediation: name an alert ({"alertId": …}), or a cause that the platform finds by itself',
  ) as unknown as z.ZodType<RemediationTrigger, RemediationTrigger>
export type RemediationTrigger = { alertId: string } | { cause: (typeof diagnosisCauses)[number] }

const { command, args, shell, workingDir, timeoutSeconds, backoffLimit } = jobConfigFields
const seconds = (min: number, max: number) => z.number().int().min(min).max(max)

/** The fields of each action. */
const stepsByAction = {
  restart: {},
  rollback: { version: seconds(1, 2_147_483_647).optional() },
  scale: {
    containers: containers.optional(),
    minContainers: seconds(1, 100).optional(),
    maxContainers: seconds(1, 100).optional(),
  },
  'function-limits': functionConfigFields,
  'apply-fix': {},
  'run-job': { appEnvId: id.optional(), command, args, shell, workingDir, timeoutSeconds, backoffLimit },
  notify: {
    contactPointIds: z.array(id).min(1).max(50).optional(),
    text: lines(500).optional(),
  },
  'call-agent': {
    contactPointId: id,
    operations: z.array(z.string().min(1).max(64)).min(1).max(30),
    expiresInSeconds: seconds(60, 3_600).optional(),
  },
} as const satisfies Record<(typeof remediationActions)[number], z.ZodRawShape>
export type RemediationStep = {
  [A in keyof typeof stepsByAction]: { action: A } & z.output<z.ZodObject<(typeof stepsByAction)[A]>>
}[keyof typeof stepsByAction]

const step = z
  .strictObject({ action: z.enum(remediationActions), ...optionalFields() })
  .check(({ value, issues }) => {
    const { action, ...given } = value
    const checked = z.strictObject(stepsByAction[action]).safeParse(given)
    for (const issue of checked.error?.issues ?? []) issues.push({ ...issue, input: given } as never)
  }) as unknown as z.ZodType<RemediationStep, RemediationStep>

function optionalFields() {
  const all: z.ZodRawShape = Object.assign({}, ...Object.values(stepsByAction))
  return Object.fromEntries(Object.entries(all).map(([name, field]) => [name, z.optional(field)]))
}

const verify = z
  .strictObject({
    alertNormalWithinSeconds: seconds(10, 86_400).optional(),
    healthyWithinSeconds: seconds(10, 86_400).optional(),
  })
  .refine(
    (given) => Object.values(given).filter((value) => value !== undefined).length === 1,
    'must be {"alertNormalWithinSeconds": 600} or {"healthyWithinSeconds": 300}',
  ) as unknown as z.ZodType<RemediationVerify, RemediationVerify>
type RemediationVerify = { alertNormalWithinSeconds: number } | { healthyWithinSeconds: number }

const atMost = z.strictObject({ count: seconds(1, 1_000), windowSeconds: seconds(60, 2_592_000) })

/** Fields of a remediation that the caller chooses (docs/remediation.md). */
export const remediationFields = {
  name: line(100),
  trigger,
  mode: z.enum(remediationModes),
  steps: z.array(step).min(1).max(10),
  notPastHumanChange: z.literal(true, 'must be true: no remediation overrides a person'),
  minSamples: seconds(1, 1_000),
  holdSeconds: seconds(0, 86_400),
  coolDownSeconds: seconds(0, 604_800),
  atMost,
  verify,
  onFailure: z.enum(['undo', 'leave']),
  contactPointIds: z.array(id).max(50),
}
