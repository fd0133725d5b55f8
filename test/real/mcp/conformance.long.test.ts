import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defaultTools } from '../../../src/mcp/policy/default-tools.ts'
import { type Listening, startFixtureServer } from '../../../testkit/mcp/conformance/fixture-server.ts'
import {
  isInspectorFound,
  isSuiteFound,
  type Ran,
  runInspector,
  runSuite,
} from '../../../testkit/mcp/conformance/suite.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { tools } from '../../../tools/index.ts'

const unlessInstalled = (isHere: boolean, name: string) =>
  isHere ? name : `${name} (skipped: the package is not installed)`

describe.skipIf(!isSuiteFound)(unlessInstalled(isSuiteFound, 'the official conformance suite'), () => {
  let fixture: Listening
  beforeAll(async () => {
    fixture = await startFixtureServer()
  })
  afterAll(() => fixture.close())

  it.each([
    ['2025-11-25', 30],
    ['2026-07-28', 37],
  ])('passes every scored scenario of %s over our transport, adapter and tools', async (revision, count) => {
    const { out, code } = await runSuite(fixture.url, '--requirements', revision)
    const [summary = '', notScored = ''] = out.slice(out.indexOf('=== SUMMARY')).split('\nNot scored')
    const scored = (summary.match(/^[✓✗] .*$/gm) ?? []).filter((line) => {
      const name = /^. ([\w-]+):/.exec(line)?.[1]
      return !notScored.includes(` ${name} (`)
    })
    expect(scored.filter((line) => !line.startsWith('✓'))).toEqual([])
    expect(scored).toHaveLength(count)
    expect(code).toBe(0)
  })

  it('resumes the stream of a 2025 session', async () => {
    const { out } = await runSuite(
      fixture.url,
      '--scenario',
      'server-sse-polling',
      '--spec-version',
      '2025-11-25',
    )
    // Only recommended, so the suite passes without.
    expect(out).toMatch(/3\/3, 0 failed/)
  })
})

describe('the running platform', () => {
  const installation = new Installation({ LONGSHORE_ENGINE: 'process' })
  let tokenGiver: Server
  let url: string

  beforeAll(async () => {
    await installation.start()
    tokenGiver = createServer((req, res) => {
      const { hostname, port } = new URL(installation.ready.mcp)
      const headers = { ...req.headers, authorization: installation.token }
      const onward = request({ hostname, port, path: req.url, method: req.method, headers }, (answer) => {
        res.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(res)
      })
      onward.once('error', () => res.destroy())
      req.pipe(onward)
    })
    await new Promise<void>((resolve) => tokenGiver.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(tokenGiver.address() as AddressInfo).port}/mcp`
  })
  afterAll(async () => {
    tokenGiver.closeAllConnections()
    tokenGiver.close()
    await installation.dispose()
  })

  // The other scenarios ask for tools, resources and prompts of fixed names.
  it
    .skipIf(!isSuiteFound)
    .each([
      'server-initialize',
      'ping',
      'tools-list',
      'resources-list',
      'prompts-list',
      'server-sse-multiple-streams',
      'dns-rebinding-protection',
    ])(
    'passes the scenario %s of the official suite',
    async (scenario) => {
      const { out, code } = await runSuite(url, '--scenario', scenario)
      expect(out).toMatch(/Passed: [1-9]\d*\/\d+, 0 failed, 0 warnings/)
      expect(code).toBe(0)
    },
    180_000,
  )

  it('takes GET only to take up a stream of a session', async () => {
    const headers = {
      authorization: installation.token,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    }
    const hello = { protocolVersion: '2025-11-25', clientInfo: { name: 'raw', version: '1' } }
    const params = { ...hello, capabilities: { elicitation: {} } }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
    const opened = await fetch(installation.ready.mcp, { method: 'POST', headers, body })
    const session = { ...headers, 'mcp-session-id': opened.headers.get('mcp-session-id')! }
    const get = (more: Record<string, string>) => fetch(installation.ready.mcp, { headers: more })
    expect((await get(session)).status).toBe(405)
    const gone = await get({ ...session, 'last-event-id': 's9.4' })
    expect(gone.status).toBe(400)
    expect(await gone.json()).toMatchObject({ error: 'Stream not found' })
    expect((await get({ ...session, 'mcp-session-id': 'none', 'last-event-id': 's9.4' })).status).toBe(404)
  })

  const stdio = () => [
    '-e',
    `LONGSHORE_URL=${installation.ready.api}`,
    '-e',
    `LONGSHORE_TOKEN=${installation.token}`,
    process.execPath,
    path.resolve('dist/longshore.js'),
    'mcp',
  ]
  const http = () => [installation.ready.mcp, '--header', `Authorization: Bearer ${installation.token}`]
  const answerOf = ({ code, out, err }: Ran) => {
    expect(code, `${out}\n${err}`).toBe(0)
    return JSON.parse(out)
  }

  describe.skipIf(!isInspectorFound).each([
    ['stdio', stdio],
    ['HTTP', http],
  ])(`${unlessInstalled(isInspectorFound, 'the official inspector')} over %s`, (_name, target) => {
    it('lists tools, resources and prompts', async () => {
      const [listed, resources, prompts] = await Promise.all(
        ['tools/list', 'resources/list', 'prompts/list'].map(async (method) =>
          answerOf(await runInspector(target(), ['--method', method])),
        ),
      )
      expect(listed.tools.map(({ name }: { name: string }) => name)).toEqual(
        tools.map(({ name }) => name).filter((name) => defaultTools.has(name)),
      )
      expect(resources.resources.map(({ uri }: { uri: string }) => uri)).toContain('longshore://environments')
      expect(prompts.prompts.map(({ name }: { name: string }) => name)).toContain('why-is-it-down')
    })

    it('calls a tool, reads a resource, gets a prompt', async () => {
      const [called, read, prompt] = await Promise.all(
        [
          [
            'tools/call',
            '--tool-name',
            'list-apps',
            '--tool-arg',
            `accountId=${installation.ready.accountId}`,
          ],
          ['resources/read', '--uri', 'longshore://environments'],
          ['prompts/get', '--prompt-name', 'deploy-function', '--prompt-args', 'name=hello'],
        ].map(async (args) => answerOf(await runInspector(target(), ['--method', ...args]))),
      )
      expect(called.structuredContent).toEqual({ apps: [] })
      expect(JSON.parse(read.contents[0].text)).toEqual({ environments: [] })
      expect(prompt.messages[0].content.text).toContain('Name: hello')
    })
  })
})
