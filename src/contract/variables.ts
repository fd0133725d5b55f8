import { z } from 'zod'
import { id, processText } from './fields.ts'

export const variableName = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be letters, digits and _ only, and not begin with a digit')

export const variableTypes = ['DEPLOY', 'BUILD', 'BOTH'] as const
const variableType = z.enum(variableTypes).describe('When it is set: DEPLOY, BUILD or BOTH')
const variableValue = processText(65_536)

/** One environment variable as written (2.2). */
export const envVar = z.strictObject({
  _id: id.optional(),
  name: variableName,
  value: variableValue,
  type: variableType.default('BOTH'),
  isSecret: z.boolean().default(true),
})

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
})

/** One entry of `set` in update-app-env-variables; omitted fields keep their values. */
export const envVarChange = z.strictObject({
  _id: id.optional(),
  name: variableName,
  value: variableValue.optional(),
  type: variableType.optional(),
  isSecret: z.boolean().optional(),
})
