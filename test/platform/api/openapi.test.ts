import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { operations } from '../../../src/contract/index.ts'
import { base, type ScriptedServer, startScripted } from '../../../testkit/api/scripted-server.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests read parts of a JSON document
let document: any
let on: ScriptedServer
beforeAll(async () => {
  on = await startScripted()
  const response = await fetch(`${on.url}${base}/openapi.json`)
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
  document = await response.json()
})
afterAll(() => on.server.close())

it('is a valid OpenAPI 3.1 document', async () => {
  const validator = new Validator()
  const result = await validator.validate(structuredClone(document))
  expect(result.errors).toBeUndefined()
  expect(result.valid).toBe(true)
  expect(validator.version).toBe('3.1')
})

it('the validator rejects an invalid document', async () => {
  const broken = structuredClone(document)
  broken.paths['/app'].post.parameters = [{ name: 'x' }]
  expect((await new Validator().validate(broken)).valid).toBe(false)
})

it('has every row, with its id, input and output', () => {
  for (const row of operations) {
    const entry = document.paths[row.path][row.method.toLowerCase()]
    expect(entry.operationId).toBe(row.id)
    expect(entry.responses['200'].content['application/json'].schema.type).toBe('object')
    const keys = Object.keys(row.input.shape)
    if (row.method === 'GET' || row.method === 'DELETE') {
      const named = (entry.parameters ?? []).filter((each: { in?: string }) => each.in === 'query')
      expect(named.map((each: { name: string }) => each.name)).toEqual(keys)
    } else {
      const schema = entry.requestBody.content['application/json'].schema
      expect(Object.keys(schema.properties)).toEqual(keys)
      expect(schema.additionalProperties).toBe(false)
    }
  }
})

it('has an example of every request and response; test/platform/api/examples.test.ts makes them', () => {
  for (const row of operations) {
    const entry = document.paths[row.path][row.method.toLowerCase()]
    const answer = entry.responses['200'].content['application/json'].example
    expect(row.output.safeParse(answer).error?.issues ?? [], row.id).toEqual([])
    const input =
      entry.requestBody?.content['application/json'].example ??
      Object.fromEntries(
        (entry.parameters ?? [])
          .filter((each: { example?: unknown }) => each.example !== undefined)
          .map((each: { name: string; example: unknown }) => [each.name, each.example]),
      )
    expect(row.input.safeParse(input).error?.issues ?? [], row.id).toEqual([])
  }
})

it('every reference resolves', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map((match) => match[1]!)
  expect(references.length).toBeGreaterThan(20)
  for (const reference of new Set(references)) {
    expect(
      reference.split('/').reduce((node, part) => node?.[part], document),
      reference,
    ).toBeDefined()
  }
})
