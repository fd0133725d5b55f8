import { z } from 'zod'
import { approvalPending } from '../contract/approvals.ts'
import { impact } from '../contract/impact.ts'
import { apiPrefix, isRead, type Operation } from '../contract/operation.ts'

type Json = Record<string, unknown>

/** A recorded call of an operation and its response (recorded by test/platform/api/examples.test.ts). */
type Examples = Readonly<Record<string, { input: Json; answer: Json } | undefined>>

/** The OpenAPI 3.1 document of the rows, as JSON text. */
export async function openapiText(operations: readonly Operation[]): Promise<string> {
  // Loaded on the first request for the document, not at every start.
  const { default: examples } = await import('./examples.json', { with: { type: 'json' } })
  return JSON.stringify(openapiDocument(operations, examples))
}

/** The OpenAPI 3.1 document of the rows: the same schemas that the server checks with. */
function openapiDocument(operations: readonly Operation[], examples: Examples = {}): Json {
  const paths: Record<string, Json> = {}
  for (const row of operations) {
    paths[row.path] = {
      ...paths[row.path],
      [row.method.toLowerCase()]: operationObject(row, examples[row.id]),
    }
  }
  paths['/uploads/{secret}'] = uploadPathItem
  return {
    openapi: '3.1.0',
    info: {
      title: 'Longshore',
      version: '1',
      description: 'The hosting platform that AI agents operate. Every error is `{error, details?}`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: apiPrefix }],
    security: [{ bearer: [] }, { token: [] }],
    paths,
    components,
  }
}

function operationObject(row: Operation, example: Examples[string]): Json {
  const input = schemaOf(row.input, 'input')
  const fromQuery = row.method === 'GET' || row.method === 'DELETE'
  const parameters = [
    ...(fromQuery ? queryParameters(input, example?.input ?? {}) : []),
    ...(isRead(row) ? [] : writeParameters),
  ]
  return {
    operationId: row.id,
    summary: row.summary,
    tags: [tagOf(row)],
    description: descriptionOf(row),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(fromQuery ? {} : { requestBody: bodyOf(input, example?.input) }),
    responses: responsesOf(row, example?.answer),
  }
}

/** The tag of an operation: the first part of its path, in the plural. */
function tagOf({ path }: Operation): string {
  const first = path.split('/')[1] ?? ''
  return first === 'audit' || first.endsWith('s') ? first : `${first}s`
}

function descriptionOf(row: Operation): string {
  const environmentToken = 'environmentToken' in row.policy && row.policy.environmentToken === true
  const sentences = [environmentToken ? 'Takes user and environment tokens.' : 'Takes user tokens.']
  if ('operatorOnly' in row.policy) sentences.push('Only operators of the installation may call it.')
  if (row.ignored !== undefined) {
    sentences.push(
      `Accepted and ignored, so that a read object can be written back: ${row.ignored.join(', ')}.`,
    )
  }
  return sentences.join(' ')
}

function queryParameters(input: Json, example: Json): Json[] {
  const required = new Set((input.required as string[] | undefined) ?? [])
  return Object.entries(input.properties as Record<string, Json>).map(
    ([name, { description, ...schema }]) => ({
      name,
      in: 'query',
      required: required.has(name),
      ...(description === undefined ? {} : { description }),
      schema,
      ...(name in example ? { example: example[name] } : {}),
    }),
  )
}

const writeParameters = [
  { $ref: '#/components/parameters/IdempotencyKey' },
  { $ref: '#/components/parameters/DryRun' },
]

function bodyOf(input: Json, example: Json | undefined): Json {
  const required = ((input.required as string[] | undefined) ?? []).length > 0
  return { required, content: { 'application/json': { schema: input, ...exampleOf(example) } } }
}

function exampleOf(example: Json | undefined): Json {
  return example === undefined ? {} : { example }
}

function responsesOf(row: Operation, example: Json | undefined): Json {
  const statuses = [400, 401, 403, 404, ...(isRead(row) ? [] : [409, 413]), 429, 503]
  const refusals = statuses.map((status) => [
    status,
    { $ref: `#/components/responses/${errorNames[status]}` },
  ])
  const answer = {
    description: isRead(row) ? 'Success.' : 'Success; with `Dry-Run: true` a DryRunResponse.',
    headers: { 'x-request-id': { $ref: '#/components/headers/RequestId' } },
    content: { 'application/json': { schema: schemaOf(row.output, 'output'), ...exampleOf(example) } },
  }
  const waiting = isRead(row) ? {} : { 202: { $ref: '#/components/responses/ApprovalPending' } }
  return { 200: answer, ...waiting, ...Object.fromEntries(refusals) }
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as Json
  return json
}

const errorNames: Readonly<Record<number, string>> = {
  400: 'Invalid',
  401: 'Unauthenticated',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  413: 'TooLarge',
  429: 'RateLimited',
  503: 'Unavailable',
}

function errorResponse(description: string, retry = false): Json {
  return {
    description,
    headers: {
      'x-request-id': { $ref: '#/components/headers/RequestId' },
      'longshore-rule': { $ref: '#/components/headers/Rule' },
      ...(retry ? { 'retry-after': { $ref: '#/components/headers/RetryAfter' } } : {}),
    },
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  }
}

const components = {
  securitySchemes: {
    bearer: {
      type: 'http',
      scheme: 'bearer',
      description: 'A user token lsu_… or an environment token lse_….',
    },
    token: { type: 'apiKey', in: 'header', name: 'Authorization', description: 'The token alone.' },
  },
  parameters: {
    IdempotencyKey: {
      name: 'Idempotency-Key',
      in: 'header',
      required: false,
      description: 'Repeats the first response for the same key and body within 24 hours. Another body: 409.',
      schema: { type: 'string', minLength: 1, maxLength: 255 },
    },
    DryRun: {
      name: 'Dry-Run',
      in: 'header',
      required: false,
      description: 'true: runs all checks without any effect and returns a DryRunResponse.',
      schema: { type: 'string', enum: ['true', 'false'], default: 'false' },
    },
  },
  headers: {
    RequestId: { description: 'Id of this request in the log.', schema: { type: 'string' } },
    Rule: { description: 'The rule that was broken, such as F8.', schema: { type: 'string' } },
    RetryAfter: { description: 'Seconds until a retry may succeed.', schema: { type: 'integer' } },
  },
  schemas: {
    Error: {
      type: 'object',
      properties: {
        error: { type: 'string', description: 'A short stable sentence.' },
        details: { type: 'string', description: 'What to do.' },
      },
      required: ['error'],
      additionalProperties: false,
    },
    DryRunResponse: {
      type: 'object',
      properties: {
        dryRun: { const: true },
        changes: {
          type: 'array',
          items: {
            type: 'object',
            properties: { path: { type: 'string' }, before: {}, after: {} },
            required: ['path'],
          },
        },
        effects: { type: 'array', items: { type: 'string' } },
        impact: schemaOf(impact, 'output'),
      },
      required: ['dryRun', 'changes', 'effects', 'impact'],
    },
  },
  responses: {
    ApprovalPending: {
      description: 'A policy rule asks: nothing has changed, and the call runs once people approve it.',
      content: { 'application/json': { schema: schemaOf(approvalPending, 'output') } },
    },
    Invalid: errorResponse('Missing fields, unknown keys or invalid values.'),
    Unauthenticated: errorResponse('The token is missing or invalid.'),
    Forbidden: errorResponse('A permission is missing, or the environment is restricted.'),
    NotFound: errorResponse('The object does not exist or is not visible to you.'),
    Conflict: errorResponse(
      'The revision differs, or the idempotency key was used with another body, or its request still runs.',
      true,
    ),
    TooLarge: errorResponse('The body is longer than 1 MiB.'),
    RateLimited: errorResponse('Too many requests.', true),
    Unavailable: errorResponse('The store or the engine is unavailable.', true),
  },
}

const uploadPathItem = {
  servers: [{ url: '/' }],
  put: {
    operationId: 'upload',
    summary:
      'Receives the archive, once. The address comes from request-deploy-storage-key and needs no token.',
    security: [],
    parameters: [{ name: 'secret', in: 'path', required: true, schema: { type: 'string' } }],
    requestBody: { required: true, content: { 'application/octet-stream': {} } },
    responses: {
      200: {
        description: 'Stored. Call notify-code-upload.',
        content: {
          'application/json': {
            schema: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
          },
        },
      },
      400: { $ref: '#/components/responses/Invalid' },
      404: { $ref: '#/components/responses/NotFound' },
      413: { $ref: '#/components/responses/TooLarge' },
    },
  },
}
