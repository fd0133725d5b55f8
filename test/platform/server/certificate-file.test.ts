import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { Certificate } from '../../../src/gateway/control/protocol.ts'
import { watchCertificateFile } from '../../../src/server/domains/certificate-file.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { makeCertificate } from '../../../testkit/gateway/certificates.ts'
import { silent } from '../../../testkit/gateway/harness.ts'
import { until } from '../../../testkit/until.ts'

it('gives the certificate of the files to the gateway, and again when both have changed', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'tls-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const setting = { port: 0, certificate: path.join(folder, 'chain.pem'), key: path.join(folder, 'key.pem') }
  const [first, second] = [makeCertificate('*.a.test', 'b.test'), makeCertificate('c.test')]
  const clock = new TestClock()
  const seen: Certificate[] = []
  const write = ({ chain }: Certificate, { key }: Certificate) => {
    writeFileSync(setting.certificate, chain)
    writeFileSync(setting.key, key)
  }
  write(first, first)
  const worker = watchCertificateFile(setting, { clock, log: silent }, (all) => seen.push(...all))
  onTestFinished(() => worker.stop())
  await until(() => seen.length === 1, 'the first')
  expect(seen[0]).toEqual(first)
  // One file is new, the other not yet.
  write(second, first)
  await clock.advance(5_000)
  write(second, second)
  await clock.advanceUntil(() => seen.length === 2, 'the second')
  expect(seen[1]!.names).toEqual(['c.test'])
})
