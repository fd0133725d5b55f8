import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { z } from 'zod'

const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'))

/** The parts that we use of the registry's schema of 2025-12-11, with its limits. */
const registryEntry = z.strictObject({
  $schema: z.literal('https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'),
  name: z
    .string()
    .min(3)
    .max(200)
    .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
  title: z.string().min(1).max(100),
  description: z.string().min(1).max(100),
  version: z.string().max(255),
  packages: z.array(
    z.strictObject({
      registryType: z.enum(['npm', 'mcpb', 'oci']),
      identifier: z.string(),
      version: z.string().regex(/^\d+\.\d+\.\d+/),
      runtimeHint: z.literal('npx'),
      transport: z.strictObject({ type: z.literal('stdio') }),
      packageArguments: z.array(z.strictObject({ type: z.literal('positional'), value: z.string() })),
      environmentVariables: z.array(
        z.strictObject({
          name: z.string(),
          description: z.string(),
          format: z.enum(['string', 'number', 'boolean', 'filepath']),
          isSecret: z.boolean().optional(),
        }),
      ),
    }),
  ),
})

it('server.json fits the MCP registry and names the npm package of this version', () => {
  const entry = registryEntry.parse(read('server.json'))
  const { name, version, mcpName } = read('package.json')
  expect(entry).toMatchObject({ name: mcpName, version, packages: [{ identifier: name, version }] })
})
