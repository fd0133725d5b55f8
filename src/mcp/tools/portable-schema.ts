import { z } from 'zod'

/** A published node of JSON Schema. */
export interface SchemaNode {
  type?: string | string[]
  description?: string
  default?: unknown
  enum?: unknown[]
  minimum?: number
  maximum?: number
  properties?: Record<string, SchemaNode>
  required?: string[]
  items?: SchemaNode
  additionalProperties?: boolean
}

/**
 * The JSON Schema of an input in the subset that the strict modes of all model families accept: objects, arrays,
 * scalars, string enums, ranges of numbers, descriptions and defaults. Other constraints are checked at the call.
 * Every conversation pays for each word, so descriptions that repeat the name are omitted (`selfExplanatory`).
 */
export function portableInput(schema: z.ZodObject): SchemaNode {
  return portable(z.toJSONSchema(schema, { io: 'input', reused: 'inline' }) as RawNode, 'input', 0)
}

/** An input as it is listed: the keys of inner objects are in words, at half the tokens. The call checks them. */
export function listedInput(schema: z.ZodObject): SchemaNode {
  const { properties = {}, ...root } = portableInput(schema)
  return { ...root, properties: mapped(properties, inWords) }
}

/**
 * The same for an output. It allows more fields, because a newer platform may return them, and requires none at its
 * root, because clients also validate error results `{error, details, …}` against it.
 */
export function portableOutput(schema: z.ZodObject): SchemaNode {
  const raw = z.toJSONSchema(schema, { io: 'output', reused: 'inline' }) as RawNode
  const { required: _required, ...open } = portable(raw, 'output', 0)
  return open
}

/** Inputs whose name is enough, so their description is not published. */
const selfExplanatory = new Set([
  'accountId',
  'appId',
  'appEnvId',
  'envName',
  'alertId',
  'contactPointId',
  'jobRunId',
  'name',
  'image',
  'useImage',
  'expectedRevision',
  'duration',
  'threshold',
  'unset',
  'clear',
  'grantFullAccess',
  'memberEnvAccessEnabled',
  'maxScale',
  'timeoutSeconds',
  'idleTimeoutSeconds',
  'responseStartTimeoutSeconds',
  'objectId',
  'entryId',
  'search',
  'requests',
  'withAppEnvs',
  'path',
  'labels',
  'protected',
  'healthy',
  'limit',
  'branch',
  'cliEnvName',
  'dockerPresetVersion',
  'membershipId',
  'approvalId',
  'minScale',
  'keepSecrets',
  'port',
  'status',
  'waitSeconds',
  'reason',
])
interface RawNode extends Omit<SchemaNode, 'properties' | 'items' | 'additionalProperties'> {
  const?: unknown
  anyOf?: RawNode[]
  properties?: Record<string, RawNode>
  items?: RawNode
  additionalProperties?: unknown
  $ref?: string
  oneOf?: unknown
  allOf?: unknown
}

function portable(raw: RawNode, side: 'input' | 'output', depth: number): SchemaNode {
  const node = withoutUnion(raw)
  if (side === 'output' && depth > 0) return listedOutput(node)
  const made: SchemaNode = { type: node.type }
  // Null stays valid at the call; some model families do not support inputs of two types.
  if (side === 'input' && Array.isArray(node.type)) made.type = node.type[0]
  // Another tool describes the fields of inner objects; their names suffice here.
  if (node.description !== undefined && depth < 2 && side === 'input') made.description = node.description
  if (node.default && side === 'input' && typeof node.default !== 'number') made.default = node.default
  copyValues(node, made, side, depth)
  if (node.properties !== undefined) {
    made.properties = portableProperties(node.properties, side, depth)
    if ((node.required?.length ?? 0) > 0 && side === 'input') made.required = node.required
    if (side === 'input') made.additionalProperties = false
  }
  if (node.items !== undefined) made.items = portable(node.items, side, depth)
  return made
}

function portableProperties(
  properties: Record<string, RawNode>,
  side: 'input' | 'output',
  depth: number,
): Record<string, SchemaNode> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, child]) => {
      const { description, ...rest } = portable(child, side, depth + 1)
      return [name, description === undefined || selfExplanatory.has(name) ? rest : { ...rest, description }]
    }),
  )
}

/** A field of an output: the result itself shows what is in it, and every listed word is paid for at each connect. */
function listedOutput({ type, items }: RawNode): SchemaNode {
  return items === undefined ? { type } : { type, items: { type: withoutUnion(items).type } }
}

function inWords(node: SchemaNode): SchemaNode {
  if (node.properties !== undefined) return { type: 'object', description: keysOf(node) }
  if (node.items?.properties === undefined) return node
  return { ...node, items: { ...node.items, properties: mapped(node.items.properties, inWords) } }
}

function mapped(
  properties: Record<string, SchemaNode>,
  change: (node: SchemaNode) => SchemaNode,
): Record<string, SchemaNode> {
  return Object.fromEntries(Object.entries(properties).map(([name, node]) => [name, change(node)]))
}

function keysOf({ properties = {} }: SchemaNode): string {
  const keys = Object.entries(properties).map(([name, child]) =>
    child.properties === undefined ? name : `${name} {${keysOf(child)}}`,
  )
  return keys.join(', ')
}

/**
 * Enums of numbers become ranges, because some model families support string enums only. Ranges are published where
 * a caller might exceed them.
 */
function copyValues(node: RawNode, made: SchemaNode, side: 'input' | 'output', depth: number): void {
  const values = node.enum?.filter((value) => value !== null)
  if (values?.every((value) => typeof value === 'number')) {
    made.type = 'integer'
    if (made.description !== undefined) return
    made.minimum = Math.min(...values)
    made.maximum = Math.max(...values)
    return
  }
  if (side === 'output') return
  if (node.enum !== undefined) made.enum = node.enum
  if (depth > 1) return
  if (node.minimum !== undefined && node.minimum > 1) made.minimum = node.minimum
  if (node.maximum !== undefined && node.maximum < 100) made.maximum = node.maximum
}

/** "T or null" becomes T with two types; any other union cannot be published and fails the build. */
function withoutUnion(node: RawNode): RawNode {
  if (node.$ref !== undefined || node.oneOf !== undefined || node.allOf !== undefined) {
    throw new Error('this schema has a reference, oneOf or allOf: not portable')
  }
  if (node.anyOf === undefined) {
    if (node.type === undefined) throw new Error('this schema has a node without a type: not portable')
    return node
  }
  // A list, or one word for all of it: published as the list.
  const list = node.anyOf.find((child) => child.type === 'array')
  const { anyOf: _union, ...about } = node
  if (list && node.anyOf.some((child) => child.const !== undefined)) return { ...list, ...about }
  const [inner, ...others] = node.anyOf.filter((child) => child.type !== 'null')
  if (inner === undefined || others.length > 0 || typeof inner.type !== 'string') {
    throw new Error('this schema has a union: not portable')
  }
  return {
    ...inner,
    ...about,
    type: [inner.type, 'null'],
    ...(inner.enum === undefined ? {} : { enum: [...inner.enum, null] }),
  }
}
