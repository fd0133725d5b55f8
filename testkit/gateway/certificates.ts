import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Certificate } from '../../src/gateway/control/protocol.ts'

/** A self-signed certificate for these names. */
export function makeCertificate(...names: string[]): Certificate {
  const folder = mkdtempSync(path.join(tmpdir(), 'cert-'))
  try {
    const [key, chain] = ['key.pem', 'chain.pem'].map((name) => path.join(folder, name)) as [string, string]
    const alternatives = `subjectAltName=${names.map((name) => `DNS:${name}`).join(',')}`
    execFileSync(
      'openssl',
      [
        ...[
          'req',
          '-x509',
          '-newkey',
          'ec',
          '-pkeyopt',
          'ec_paramgen_curve:prime256v1',
          '-nodes',
          '-days',
          '2',
        ],
        ...['-subj', `/CN=${names[0]}`, '-addext', alternatives, '-keyout', key, '-out', chain],
      ],
      { stdio: 'ignore' },
    )
    return { names, chain: readFileSync(chain, 'utf8'), key: readFileSync(key, 'utf8') }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
