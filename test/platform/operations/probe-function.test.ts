import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { report } from '../../../src/cli/probe.ts'
import { getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import { deployAppEnvImage } from '../../../src/contract/deployments.ts'
import { probeFunction } from '../../../src/contract/function-probe.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../testkit/until.ts'

let platform: TestPlatform
let appEnvId = ''
let requests = 0
const answerMs = 20
const gateway = createServer((_request, response) => {
  requests += 1
  setTimeout(() => response.end('ok'), answerMs)
})

beforeAll(async () => {
  await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve))
  const { port } = gateway.address() as AddressInfo
  platform = await TestPlatform.start({ ingress: { host: '127.0.0.1', port } })
  ;({ appEnvId } = await platform.makeEnvironment({ app: { dockerPreset: 'FUNCTION' } }))
})
afterAll(async () => {
  await platform.close()
  gateway.closeAllConnections()
  gateway.close()
})

const probe = (input: Record<string, unknown>, headers: Record<string, string> = {}) =>
  platform.request('POST', '/app-env/function-probe', { token: platform.admin.token, input, headers })

describe('probe-function', () => {
  it('E3 rejects other presets', async () => {
    const app = await platform.makeEnvironment()
    expect(await probe({ appEnvId: app.appEnvId })).toMatchObject({
      status: 400,
      json: { error: 'Only FUNCTION apps can be probed' },
    })
  })

  it('rejects a function that is not running', async () => {
    expect(await probe({ appEnvId })).toMatchObject({
      status: 409,
      json: { error: 'The function is not running' },
    })
  })

  it('returns measurements, sends no requests in a dry run, and has a report for people', async () => {
    await platform.admin.client.call(deployAppEnvImage, { appEnvId, image: 'sample:1' })
    await untilRead(
      () => platform.admin.client.call(getAppEnvStatus, { appEnvId }),
      ({ status }) => status === 'RUNNING',
      'a function that serves',
    )
    const dry = await probe({ appEnvId }, { 'dry-run': 'true' })
    expect(JSON.stringify(dry.json)).toContain('at most 300 GET requests')
    expect(requests).toBe(0)
    const answer = await platform.admin.client.call(probeFunction, { appEnvId, requests: 40, concurrency: 4 })
    expect(requests).toBe(40)
    expect(answer.levels.map((level) => level.concurrency)).toEqual([1, 2, 4])
    expect(answer.checks.map((check) => check.rule)).toEqual(['F1', 'F2', 'F3'])
    // The first of the 40 requests is the cold start, not load.
    expect(answer.levels.reduce((sum, level) => sum + level.ok, 0)).toBe(39)
    // A busy machine only adds to latencies, which may change the proposal: test/unit/domain/function-probe.test.ts.
    for (const level of answer.levels) expect(level.p95Seconds * 1_000).toBeGreaterThanOrEqual(answerMs - 1)
    const { containerConcurrency, minScale } = answer.proposal
    expect(report(answer).join('\n')).toContain(
      `Proposed: containerConcurrency ${containerConcurrency}, minScale ${minScale}`,
    )
  })

  it('rejects an invalid path', async () => {
    for (const path of ['http://elsewhere/', '/a b', '', '/\r\nx: y']) {
      expect((await probe({ appEnvId, path })).status, path).toBe(400)
    }
  })
})
