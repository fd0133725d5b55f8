import { z } from 'zod'

/** The kinds of effect that a write can have (docs/interface.md#impact). */
export const impactActions = [
  'create-object',
  'delete-object',
  'change-settings',
  'change-access',
  'change-credential',
  'deploy',
  'rollback',
  'restart',
  'stop',
  'start',
  'scale-up',
  'scale-down',
  'run-job',
  'replace-data',
  'delete-data',
  'reveal-secret',
  'send-message',
  'none',
] as const

/** The effects of a write as data: policies, approvals, budgets and audit entries decide over it, never over text. */
export const impact = z.strictObject({
  actions: z.array(z.enum(impactActions)).min(1),
  environments: z.array(z.string()).describe('Ids of the environments that it affects'),
  serving: z
    .boolean()
    .describe('One of them answered a request within the last hour, or is a database that runs'),
  containersEnded: z.number().int(),
  containersStarted: z.number().int(),
  downtimeSeconds: z.number().nullable().describe('0: none; null: possible, of unknown length'),
  dataLost: z.boolean().describe('Stored data is lost that no backup younger than an hour holds'),
  undo: z.enum(['undo-change', 'redeploy', 'restore', 'none']),
  zCloudsDelta: z.number().describe('Reserved zClouds after minus before'),
  variables: z.strictObject({
    changed: z.array(z.string()),
    appliedOf: z
      .array(z.strictObject({ name: z.string(), by: z.string().nullable() }))
      .describe('Pending changes that it puts in force, with the user who saved each of them'),
  }),
  peopleNotified: z.number().int(),
})
export type Impact = z.output<typeof impact>

/** A handler states the fields that differ from a write without effect, except those that follow from its change. */
export type ImpactStatement = Partial<Omit<Impact, 'variables' | 'serving' | 'zCloudsDelta'>> & {
  variables?: Partial<Impact['variables']>
}
