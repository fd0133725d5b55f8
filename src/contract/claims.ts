import { z } from 'zod'
import { environmentRef, isoTime, line, message } from './fields.ts'
import { operation } from './operation.ts'

/** Who works on an environment (docs/autonomy.md#claims). */
export const claim = z.object({
  by: z.string().nullable().describe('User id'),
  agent: z.string().nullable(),
  intent: z.string(),
  until: isoTime,
})

export const claimAppEnv = operation({
  id: 'claim-app-env',
  method: 'POST',
  path: '/app-env/claim',
  summary: 'Claims an environment for a time: the writes of other agents get 409. Claiming again extends it.',
  policy: { on: 'environment' },
  input: z.strictObject({
    ...environmentRef,
    intent: line(200).describe('What for'),
    seconds: z.number().int().min(1).max(3_600).default(900),
  }),
  output: z.object({ appEnvId: z.string(), claim }),
})

export const releaseAppEnv = operation({
  id: 'release-app-env',
  method: 'POST',
  path: '/app-env/release',
  summary: 'Ends the claim of an environment.',
  policy: { on: 'environment' },
  input: z.strictObject(environmentRef),
  output: z.object(message),
})
