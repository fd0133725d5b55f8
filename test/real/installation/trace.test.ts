import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { getLogs } from '../../../src/contract/app-env-reads.ts'
import { listAudit } from '../../../src/contract/audit.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { deploy, makeFunction, sampleSource, until, untilDeployed } from '../../../testkit/platform/story.ts'

interface Span {
  name: string
  traceId: string
  spanId: string
  parentSpanId?: string
}

const spans: Span[] = []
const receivedHeaders: (string | undefined)[] = []
/** What an operator runs to collect traces, as far as OTLP over HTTP goes. */
const collector = http.createServer(async (request, response) => {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  receivedHeaders.push(request.headers['x-collector-key'] as string | undefined)
  const { resourceSpans } = JSON.parse(Buffer.concat(parts).toString())
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
  const requests = await until(
    () => client.call(getLogs, { appEnvId, type: 'REQUEST', search: traceId }),
    ({ logs }) => logs.some(({ request }) => request?.path === '/traced'),
    'a request of the trace',
  )
  expect(requests.logs[0]?.request?.traceId).toBe(traceId)
  const output = await until(
    () => client.call(getLogs, { appEnvId, search: 'got ' }),
    ({ logs }) => logs.length > 0,
    'the header that the container got',
  )
  expect(output.logs.map(({ message }) => message).join()).toContain(`got 00-${traceId}-`)

  const named = (name: string) => spans.find((span) => span.name === name && span.traceId === traceId)
  const request = `GET ${requests.logs[0]?.podName?.replace(/-\w{10}$/, '')}`
  await until(
    async () => spans.length,
    () => ['tools/call probe-function', 'probe-function', request].every((name) => named(name)),
    `spans of the trace, ${request} too`,
  )
  const tool = named('tools/call probe-function')
  expect(tool?.parentSpanId).toBe(hostSpan)
  expect(named('probe-function')?.parentSpanId).toBe(tool?.spanId)
  expect(new Set(receivedHeaders)).toEqual(new Set(['of-the-collector']))
})
