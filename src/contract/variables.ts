import { z } from 'zod'
import { id, processText, secretMask } from './fields.ts'

export const variableName = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be letters, digits and _ only, and not begin with a digit')

export const variableTypes = ['DEPLOY', 'BUILD', 'BOTH'] as const
const variableType = z
  .enum(variableTypes)
  .describe('When it is set: DEPLOY, BUILD or BOTH (default; DEPLOY with from)')
const variableValue = processText(65_536)

/** Where the value comes from: `field` is url, host, port, user, password or name of a database, else a variable. */
const variableSource = z
  .strictObject({ envName: z.string().min(1).max(140).nullable(), field: z.string().min(1).max(128) })
  .describe(
    'Takes the value from another environment: a field of a database (url, host, port, user, password, name) or a variable',
  )

/** A random value, which is never shown. */
const generatedValue = z
  .strictObject({
    length: z.number().int().min(16).max(256).default(32),
    alphabet: z
      .string()
      .max(128)
      .regex(/^[!-~]*$/, 'must be printable ASCII without spaces')
      .refine((text) => new Set(text).size === text.length, 'must not repeat a character')
      .refine((text) => text.length >= 10, 'must have at least 10 characters')
      .optional(),
  })
  .describe('Makes a random value')
export type GeneratedValue = z.output<typeof generatedValue>

/** The ways to give a value. Beside `from`, `value` only repeats a read, and is ignored. */
const valueFields = {
  value: variableValue.optional(),
  from: variableSource.optional(),
  generate: generatedValue.optional(),
}

function hasOneValue({
  value,
  from,
  generate,
}: {
  value?: unknown
  from?: unknown
  generate?: unknown
}): boolean {
  return generate === undefined || (from === undefined && (value === undefined || value === secretMask))
}
const oneValue = 'takes one of value, from and generate'

/** One environment variable as written (2.2). */
export const envVar = z
  .strictObject({
    _id: id.optional(),
    name: variableName,
    ...valueFields,
    type: variableType.optional(),
    isSecret: z.boolean().default(true),
  })
  .refine(hasOneValue, oneValue)

export const envVars = z
  .array(envVar)
  .max(500)
  .refine(
    (variables) => new Set(variables.map((variable) => variable.name)).size === variables.length,
    'each variable name may appear once',
  )

export const envVarRead = z.object({
  _id: z.string(),
  name: z.string(),
  value: z.string(),
  type: z.enum(variableTypes),
  isSecret: z.boolean(),
  /** Set for a reference; `envName` is null where the caller may not see that environment. */
  from: z.object({ envName: z.string().nullable(), field: z.string() }).optional(),
})

/** One entry of `set` in update-app-env-variables; omitted fields keep their values. */
export const envVarChange = z
  .strictObject({
    _id: id.optional(),
    name: variableName,
    ...valueFields,
    type: variableType.optional(),
    isSecret: z.boolean().optional(),
  })
  .refine(hasOneValue, oneValue)
