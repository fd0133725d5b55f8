import { readFileSync } from 'node:fs'
import { Option } from 'commander'
import type { Domain } from '../contract/domains.ts'
import type { Options } from './command.ts'
import { UsageError } from './command-io.ts'
import { printable } from './progress.ts'
import { renderTable } from './render.ts'
import type { Input, RowExtension } from './rows/extension.ts'

/** Files, because a private key must not be among the arguments of a process. */
const files = [
  new Option('--chain <file>', 'PEM file with the certificate and those between it and the root'),
  new Option('--key <file>', 'PEM file with its private key'),
]

export const addDomainExtension: RowExtension = {
  options: files,
  filled: ['certificate'],
  prepare: (input, options) => readCertificate(input, options, false),
}

export const uploadCertificateExtension: RowExtension = {
  options: files,
  filled: ['certificate'],
  prepare: (input, options) => readCertificate(input, options, true),
}

/** A table, then the problems and the missing DNS records. */
export function domainLines({ domains }: { domains: readonly Domain[] }): string[] {
  const rows = domains.map(({ domain, status, challenge, certificate, redirect }) => ({
    domain,
    status,
    certificate: certificate ? `${certificate.source}, to ${certificate.notAfter.slice(0, 10)}` : '-',
    challenge,
    redirect: redirect ? 'yes' : 'no',
  }))
  const notes = domains.flatMap(({ domain, status, dns, lastError }) => [
    ...(lastError
      ? [
          printable(
            `${domain}: ${lastError.detail}${lastError.retryAt ? ` Next try: ${lastError.retryAt}.` : ''}`,
          ),
        ]
      : []),
    ...(status === 'waiting-dns'
      ? dns.expected.map(({ type, name, value }) => `${domain}: DNS record ${name} ${type} ${value}`)
      : []),
  ])
  return [...renderTable(rows, 'domains'), ...notes]
}

function readCertificate(input: Input, { chain, key }: Options, isNeeded: boolean): void {
  if (chain === undefined && key === undefined && !isNeeded) return
  if (typeof chain !== 'string' || typeof key !== 'string') {
    throw new UsageError('give --chain and --key together')
  }
  input.certificate = { chain: textOf(chain), key: textOf(key) }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}
