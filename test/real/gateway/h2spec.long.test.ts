import { execFile, spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { makeCertificate } from '../../../testkit/gateway/certificates.ts'
import { appRoute, startGateway, upstream } from '../../../testkit/gateway/harness.ts'
import { until } from '../../../testkit/until.ts'

const isMissing = spawnSync('h2spec', ['--version']).error !== undefined

it.skipIf(isMissing)(
  `HTTP/2 as h2spec has it${isMissing ? ' (left out: no h2spec)' : ''}`,
  async () => {
    const container = await upstream((_request, response) => response.end('x'.repeat(100)))
    const { gateway, link } = await startGateway(
      [appRoute([container.container('one')], { domains: ['localhost'] })],
      { tlsPort: 0 },
    )
    link.setCertificates([makeCertificate('localhost')])
    await until(() => gateway.tlsPort !== null, 'the TLS port')
    const args = ['-t', '-k', '-h', 'localhost', '-p', String(gateway.tlsPort), '-o', '5']
    const text = await new Promise<string>((resolve) => {
      execFile('h2spec', args, { maxBuffer: 1e7 }, (_error, output) => resolve(output))
    })
    expect(text).toMatch(/\d+ tests, \d+ passed, \d+ skipped, 0 failed/)
  },
  300_000,
)
