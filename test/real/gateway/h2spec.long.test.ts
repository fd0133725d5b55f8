import { execFile, spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { makeCertificate } from '../../../testkit/gateway/certificates.ts'
import { appRoute, startGateway, upstream } from '../../../testkit/gateway/harness.ts'
import { until } from '../../../testkit/until.ts'

const isMissing = spawnSync('h2spec', ['--version']).error !== undefined

/** What the library of Node does in its own way: it forgets closed streams, and ignores frames on them. */
const ofNode = new Set([
  'closed: Sends a DATA frame after sending RST_STREAM frame',
  'closed: Sends a HEADERS frame after sending RST_STREAM frame',
  'closed: Sends a DATA frame',
  'closed: Sends a HEADERS frame',
  'Sends stream identifier that is numerically smaller than previous',
  // It closes the connection.
  'Sends a PING frame with ACK',
  'Sends multiple WINDOW_UPDATE frames increasing the flow control window to above 2^31-1',
])

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
    const failed = [...text.matchAll(/× \d+: (.*)/g)].map(([, title]) => title)
    expect(text).toMatch(/\d+ tests, 1[34]\d passed, 0 skipped/)
    expect(failed.filter((title) => !ofNode.has(title!))).toEqual([])
  },
  300_000,
)
