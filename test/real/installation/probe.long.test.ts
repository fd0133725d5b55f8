import { afterAll, describe, expect, it } from 'vitest'
import { getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import { getAppEnvMetricsSeries } from '../../../src/contract/measurements.ts'
import { runCli } from '../../../src/server/commands/run-cli.ts'
import { deploy, makeFunction, sampleSource, untilDeployed } from '../../../testkit/platform/deploy.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { untilRead } from '../../../testkit/until.ts'

describe('longshore probe on a real function (process engine)', () => {
  // The least idle time, 300 s, is 5 s.
  const installation = new Installation({ LONGSHORE_ENGINE: 'process', LONGSHORE_CLOCK_SCALE: '60' })
  afterAll(() => installation.dispose())

  it('F1 F2 F3 sees the cold start and the containers that are added', async () => {
    await installation.start()
    const { appEnvId } = await makeFunction(installation, 'probed', { containerConcurrency: 4 })
    await deploy(installation, appEnvId, sampleSource('node:20-alpine'))
    await untilDeployed(installation, appEnvId)
    await untilRead(
      () => installation.client().call(getAppEnvStatus, { appEnvId }),
      ({ containers }) => containers.running === 0,
      'zero containers',
    )
    const written: string[] = []
    const silent = { write: (text: string) => written.push(text), isTTY: false }
    const code = await runCli(
      ['probe', appEnvId, '--path', '/?ms=50', '--requests', '800', '--concurrency', '12', '--json'],
      { LONGSHORE_URL: installation.ready.api, LONGSHORE_TOKEN: installation.token },
      { stdout: silent, stderr: silent, onInterrupt: () => () => {} },
    )
    const probe = JSON.parse(written.join(''))
    expect(probe.checks, JSON.stringify(probe)).toEqual([
      expect.objectContaining({ rule: 'F1', holds: true }),
      expect.objectContaining({ rule: 'F2', holds: true }),
      expect.objectContaining({ rule: 'F3', holds: true }),
    ])
    expect(code).toBe(0)
    expect(probe.coldStartSeconds).toBeGreaterThan(0.05)
    expect(probe.levels[0].p50Seconds).toBeGreaterThanOrEqual(0.05)
    // Its numbers are those the platform has measured itself.
    const metric = 'ingress_request_rate'
    await untilRead(
      () => installation.client().call(getAppEnvMetricsSeries, { appEnvId, metric }),
      ({ points }) => points.some(({ max }) => max > 0),
      'a measured rate',
    )
  })
})
