import { z } from 'zod'
import type { Operation } from '../../src/contract/operation.ts'

const candidates = ['x', 'someone@example.com', '1m', 1, true, [], {}]

/**
 * Values for everything that an operation requires beside ids, so that tests of all operations need no line for each.
 * A field that takes none of the candidates is left out: a test that needs it states it.
 */
export function sampleInput({ input }: Operation): Record<string, unknown> {
  const required = Object.entries(input.shape).filter(([, field]) => !field.safeParse(undefined).success)
  const sampled = required.map(([name, field]) => {
    const value = [...optionsOf(field), ...candidates].find((one) => field.safeParse(one).success)
    return [name, value] as const
  })
  return Object.fromEntries(sampled.filter(([, value]) => value !== undefined))
}

/** The same, with the ids of objects that exist. */
export function inputWithIds(row: Operation, world: object): Record<string, unknown> {
  const { accountId, ...ids } = Object.fromEntries(
    Object.entries(world).filter(([name]) => name in row.input.shape && name !== 'envName'),
  )
  // An account or an app: the app is meant.
  const sampled = row.id === 'explain-policy' ? { operation: 'create-account', input: { name: 'x' } } : {}
  const own = accountId === undefined || row.policy.on === 'account-or-app' ? ids : { accountId, ...ids }
  return { ...sampleInput(row), ...sampled, ...own }
}

function optionsOf(field: z.core.$ZodType): unknown[] {
  const { enum: options = [] } = z.toJSONSchema(field, { io: 'input', unrepresentable: 'any' })
  return options
}
