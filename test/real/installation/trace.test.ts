import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { updateAppEnvVariables } from '../../../src/contract/app-env-actions.ts'
import { getLogs } from '../../../src/contract/app-env-reads.ts'
import { listAudit } from '../../../src/contract/audit.ts'
import { secretMask } from '../../../src/contract/fields.ts'
import { deploy, makeFunction, sampleSource, untilDeployed } from '../../../testkit/platform/deploy.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { Canaries, type Output } from '../../../testkit/secrets/canaries.ts'
import { untilRead } from '../../../testkit/until.ts'

interface Span {
  name: string
  traceId: string
  spanId: string
  parentSpanId?: string
  attributes: { key: string; value: { stringValue?: string } }[]
}

const spans: Span[] = []
const bodies: Output[] = []
const receivedHeaders: (string | undefined)[] = []
/** What an operator runs to collect traces, as far as OTLP over HTTP goes. */
const collector = http.createServer(async (request, response) => {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  receivedHeaders.push(request.headers['x-collector-key'] as string | undefined)
  const text = Buffer.concat(parts).toString()
  bodies.push({ where: 'collector', text })
  const { resourceSpans } = JSON.parse(text)
  for (const { scopeSpans } of resourceSpans) for (const scope of scopeSpans) spans.push(...scope.spans)
  response.setHeader('content-type', 'application/json').end('{}')
})
let installation: Installation

beforeAll(async () => {
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  installation = new Installation({
    LONGSHORE_ENGINE: 'process',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=of-the-collector',
    OTEL_BSP_SCHEDULE_DELAY: '200',
  })
  await installation.start()
})
afterAll(async () => {
  await installation.dispose()
  collector.close()
})

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const hostSpan = '00f067aa0ba902b7'
const printsItsTrace = `require('http').createServer((request, response) => {
  console.log('got ' + request.headers.traceparent)
  response.end('ok')
}).listen(process.env.PORT)`

it('one trace leads from a tool call to its audit entry, the gateway and the container, and is exported', async () => {
  const { appEnvId } = await makeFunction(installation, 'traced')
  await deploy(installation, appEnvId, sampleSource('node:20-alpine', printsItsTrace))
  await untilDeployed(installation, appEnvId)
  const agent = new Client({ name: 'agent', version: '1' })
  const headers = { authorization: `Bearer ${installation.token}` }
  const url = new URL(installation.ready.mcp)
  await agent.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }) as never)
  const _meta = { traceparent: `00-${traceId}-${hostSpan}-01` }
  const callTool = (name: string, args: object) =>
    agent.callTool({ name, arguments: { appEnvId, ...args }, _meta }, undefined, { timeout: 120_000 })
  await callTool('update-app-env-variables', { set: [{ name: 'COLOR', value: 'blue' }] })
  await callTool('probe-function', { path: '/traced', requests: 1, concurrency: 1 })
  await agent.close()

  const client = installation.client()
  const { entries } = await client.call(listAudit, { accountId: installation.ready.accountId, traceId })
  expect(entries).toMatchObject([{ operation: 'update-app-env-variables', surface: 'mcp', traceId }])
  const requests = await untilRead(
    () => client.call(getLogs, { appEnvId, type: 'REQUEST', search: traceId }),
    ({ logs }) => logs.some(({ request }) => request?.path === '/traced'),
    'a request of the trace',
  )
  expect(requests.logs[0]?.request?.traceId).toBe(traceId)
  const output = await untilRead(
    () => client.call(getLogs, { appEnvId, search: 'got ' }),
    ({ logs }) => logs.length > 0,
    'the header that the container got',
  )
  expect(output.logs.map(({ message }) => message).join()).toContain(`got 00-${traceId}-`)

  const named = (name: string) => spans.find((span) => span.name === name && span.traceId === traceId)
  const request = `GET ${requests.logs[0]?.podName?.replace(/-\w{10}$/, '')}`
  await untilRead(
    async () => spans.length,
    () => ['tools/call probe-function', 'probe-function', request].every((name) => named(name)),
    `spans of the trace, ${request} too`,
  )
  const tool = named('tools/call probe-function')
  expect(tool?.parentSpanId).toBe(hostSpan)
  expect(named('probe-function')?.parentSpanId).toBe(tool?.spanId)
  expect(new Set(receivedHeaders)).toEqual(new Set(['of-the-collector']))
})

it('the collector gets no secret: not that of a call, of a path or of a query string', async () => {
  const secrets = new Canaries()
  const client = installation.client()
  const { appEnvId, host } = await makeFunction(installation, 'discreet')
  const value = secrets.plant('variable', (core) => core)
  const query = secrets.plant('query string', (core) => core)
  await client.call(updateAppEnvVariables, { appEnvId, set: [{ name: 'KEY', value }] })
  await deploy(installation, appEnvId, sampleSource('node:20-alpine', printsItsTrace))
  await untilDeployed(installation, appEnvId)
  await installation.request(host, `/kept/${value}?key=${query}`)
  const paths = () =>
    spans.flatMap(({ attributes }) => attributes.map(({ value }) => value.stringValue ?? ''))
  await untilRead(
    async () => paths(),
    (found) => found.includes(`/kept/${secretMask}`),
    'the span of the request',
  )
  expect(spans.map(({ name }) => name)).toContain('update-app-env-variables')
  expect(secrets.foundIn(bodies)).toEqual([])
})
