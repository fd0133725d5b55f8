import { readdirSync, readFileSync } from 'node:fs'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, it } from 'vitest'
import { operations } from '../../../src/contract/index.ts'
import { isRead } from '../../../src/contract/operation.ts'
import { defaultTools } from '../../../src/mcp/policy/default-tools.ts'
import { defaultToolPolicy } from '../../../src/mcp/policy/tool-policy.ts'
import { portableInput } from '../../../src/mcp/tools/portable-schema.ts'
import { publishTools } from '../../../src/mcp/tools/publish.ts'
import { type ListedTool, listedTools, shownTools } from '../../../src/mcp/tools/published-tool.ts'
import { inputSchemaOf } from '../../../src/mcp/tools/schema.ts'
import { tools } from '../../../tools/index.ts'

const published = publishTools(tools)
const list = listedTools(published, defaultToolPolicy)
const defaults = shownTools(list, defaultToolPolicy)

/** Every node of a JSON Schema, with its path. */
function nodes(schema: unknown, path = ''): { path: string; node: Record<string, unknown> }[] {
  const node = schema as Record<string, unknown>
  const properties = Object.entries((node.properties ?? {}) as Record<string, unknown>)
  return [
    { path, node },
    ...properties.flatMap(([name, child]) => nodes(child, `${path}.${name}`)),
    ...(node.items === undefined ? [] : nodes(node.items, `${path}[]`)),
  ]
}

describe('the tool list', () => {
  it('has one file for each tool, named as the tool and its operation', () => {
    const files = readdirSync('tools').filter((file) => file !== 'index.ts')
    expect(files.map((file) => file.replace(/\.ts$/, '')).sort()).toEqual(
      tools.map((tool) => tool.name).sort(),
    )
    for (const tool of tools) expect(tool.name).toBe(tool.operation.id)
  })

  it('offers every operation that is not for people only, in the order of the contract', () => {
    const offered = operations.filter((row) => row.peopleOnly !== true).map((row) => row.id)
    expect(tools.map((tool) => tool.name)).toEqual(offered)
  })

  it('hints that reads read and writes do not', () => {
    for (const tool of tools) {
      expect(tool.hints.readOnly, tool.name).toBe(isRead(tool.operation))
      if (tool.hints.readOnly) expect(tool.hints.destructive, tool.name).toBe(false)
      if (tool.operation.method === 'DELETE') {
        expect(tool.hints.destructive, tool.name).toBe(true)
        expect(tool.destroys, tool.name).toBeDefined()
      }
    }
  })

  it('gives all four hints of every tool; only deployments, test notifications and domains reach outside', () => {
    for (const { name, annotations } of list) {
      expect(Object.keys(annotations).sort(), name).toEqual([
        'destructiveHint',
        'idempotentHint',
        'openWorldHint',
        'readOnlyHint',
      ])
    }
    const outside = tools.filter(({ hints }) => hints.openWorld).map(({ name }) => name)
    const deploys = tools.filter(({ waits }) => waits === true).map(({ name }) => name)
    const domains = ['add-app-env-domain', 'verify-app-env-domain']
    expect(outside.sort()).toEqual([...deploys, 'test-contact-point', ...domains].sort())
  })

  it('says what each tool does in at most 300 characters, under a name every host takes', () => {
    for (const tool of list) {
      expect(tool.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
      expect(tool.description.length, tool.name).toBeGreaterThan(20)
      expect(tool.description.length, tool.name).toBeLessThanOrEqual(300)
    }
  })

  it('repeats no summary of the contract: a tool without a description has it anyway', () => {
    for (const { name, description, operation } of tools) {
      const source = readFileSync(`tools/${name}.ts`, 'utf8')
      expect(description === operation.summary, name).toBe(!/^ {2}description:/m.test(source))
    }
  })

  it('publishes the schema subset every model family takes', () => {
    const known = new Set(
      'type description default enum minimum maximum properties required items additionalProperties'.split(
        ' ',
      ),
    )
    for (const tool of list) {
      for (const { path, node } of [...nodes(tool.inputSchema), ...nodes(tool.outputSchema)]) {
        const where = `${tool.name} ${path}`
        expect(
          Object.keys(node).filter((key) => !known.has(key)),
          where,
        ).toEqual([])
        expect(node.type, where).toBeDefined()
        for (const value of (node.enum ?? []) as unknown[]) {
          expect(value === null || typeof value === 'string', where).toBe(true)
        }
      }
      expect(tool.inputSchema.type).toBe('object')
      expect(tool.outputSchema.type).toBe('object')
      for (const { path, node } of nodes(tool.inputSchema)) {
        // Its keys are in words, or another tool lists them.
        const isFree = node.properties === undefined
        if (node.type === 'object' && !isFree)
          expect(node.additionalProperties, `${tool.name} ${path}`).toBe(false)
      }
    }
  })

  it('is at most 36 tools by default, with the documented ones, and costs a model what it may', () => {
    const documented = [
      ...['create-app', 'update-function-config', 'request-deploy-storage-key', 'notify-code-upload'],
      ...['deploy-app-env-image', 'get-app-env', 'get-app-env-status', 'get-app-env-pods'],
      ...['get-app-env-history', 'get-logs', 'stop-app-env', 'start-app-env', 'apply-app-env-changes'],
      ...['update-app-env-autoscaling', 'scale-app-env-containers'],
    ]
    const names = defaults.map(({ name }) => name)
    expect(names.length).toBeLessThanOrEqual(36)
    expect(names).toEqual(expect.arrayContaining(documented))
    expect(names).toHaveLength(defaultTools.size)
    const tokens = (tools: readonly ListedTool[]) =>
      encode(
        JSON.stringify(
          tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
        ),
      ).length
    expect(tokens(defaults)).toBeLessThanOrEqual(4_500)
    expect(encode(JSON.stringify(defaults)).length).toBeLessThanOrEqual(11_000)
    expect(tokens(list)).toBeLessThanOrEqual(12_000)
  })

  it('publishes every key that a call takes, and no other', () => {
    for (const tool of tools) {
      const taken = Object.keys(inputSchemaOf(tool).shape)
      const { properties = {} } = published.find(({ listed }) => listed.name === tool.name)!.listed
        .inputSchema
      expect(Object.keys(properties).sort(), tool.name).toEqual(taken.sort())
    }
  })

  it('publishes of inner objects all keys, or none: then the description names them', () => {
    for (const tool of tools) {
      const { inputSchema } = published.find(({ listed }) => listed.name === tool.name)!.listed
      const whole = nodes(portableInput(inputSchemaOf(tool)))
      for (const { path, node } of nodes(inputSchema)) {
        const taken = whole.find((one) => one.path === path)!.node.properties
        if (path === '' || taken === undefined || node.properties === undefined) continue
        expect(Object.keys(node.properties as object), `${tool.name} ${path}`).toEqual(
          Object.keys(taken as object),
        )
      }
    }
  })

  it('shows inputs that reveal secrets only where they are allowed', () => {
    const inputOf = (allowSecrets: boolean) =>
      listedTools(published, { ...defaultToolPolicy, allowSecrets }).find(
        (tool) => tool.name === 'get-app-env',
      )!.inputSchema.properties!
    expect(inputOf(false)).not.toHaveProperty('decrypt')
    expect(inputOf(true)).toHaveProperty('decrypt')
  })

  it('is the stored list', () => {
    expect(list).toMatchSnapshot()
  })
})
