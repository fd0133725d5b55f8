import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { freePort } from '../free-port.ts'
import { makeCertificate } from '../gateway/certificates.ts'
import { removeFolder } from '../remove-folder.ts'
import { untilRead } from '../until.ts'

const programs = ['pebble', 'pebble-challtestsrv']
/** For the titles of tests that are left out. */
export const withoutPebble = programs.some((name) => spawnSync(name, ['-version']).error !== undefined)

interface PebbleOptions {
  /** Where it looks at HTTP-01 and TLS-ALPN-01. */
  httpPort: number
  tlsPort: number
  /** Life of its certificates, in seconds. */
  life?: number
  /** Percent of good nonces that it refuses. */
  refusedNonces?: number
}

/** The certificate authority Pebble, with the DNS server of its tests: names exist once they are set. */
export class Pebble {
  readonly url: string
  readonly caFile: string
  readonly dns: string
  readonly #dir: string
  readonly #management: number
  readonly #start: () => ChildProcess
  readonly #dnsServer: ChildProcess
  #authority: ChildProcess

  private constructor(
    dir: string,
    ports: { authority: number; dns: number; management: number },
    start: () => ChildProcess,
  ) {
    this.#dir = dir
    this.#management = ports.management
    this.url = `https://localhost:${ports.authority}/dir`
    this.caFile = path.join(dir, 'ca.pem')
    this.dns = `127.0.0.1:${ports.dns}`
    this.#dnsServer = spawn(
      'pebble-challtestsrv',
      [
        ...[
          '-http01',
          '',
          '-https01',
          '',
          '-tlsalpn01',
          '',
          '-doh',
          '',
          '-defaultIPv4',
          '',
          '-defaultIPv6',
          '',
        ],
        ...['-dnsserver', this.dns, '-management', `127.0.0.1:${ports.management}`],
      ],
      { stdio: 'ignore' },
    )
    this.#start = start
    this.#authority = start()
  }

  static async start({ httpPort, tlsPort, life = 3_600, refusedNonces = 0 }: PebbleOptions): Promise<Pebble> {
    const dir = mkdtempSync(path.join(tmpdir(), 'pebble-'))
    const ports = { authority: await freePort(), dns: await freePort(), management: await freePort() }
    const { chain, key } = makeCertificate('localhost')
    const file = (name: string, text: string) => {
      writeFileSync(path.join(dir, name), text)
      return path.join(dir, name)
    }
    const config = file(
      'config.json',
      JSON.stringify({
        pebble: {
          listenAddress: `127.0.0.1:${ports.authority}`,
          managementListenAddress: `127.0.0.1:${await freePort()}`,
          certificate: file('ca.pem', chain),
          privateKey: file('ca-key.pem', key),
          ...{ httpPort, tlsPort, ocspResponderURL: '', externalAccountBindingRequired: false },
          domainBlocklist: ['blocked.example'],
          retryAfter: { authz: 1, order: 1 },
          keyAlgorithm: 'ecdsa',
          profiles: { short: { description: 'short', validityPeriod: life } },
        },
      }),
    )
    const env = {
      ...process.env,
      PEBBLE_VA_NOSLEEP: '1',
      PEBBLE_WFE_NONCEREJECT: String(refusedNonces),
      PEBBLE_AUTHZREUSE: '0',
    }
    const args = ['-config', config, '-dnsserver', `127.0.0.1:${ports.dns}`]
    const pebble = new Pebble(dir, ports, () => spawn('pebble', args, { env, stdio: 'ignore' }))
    await pebble.#ready()
    return pebble
  }

  /** Makes a name lead to these addresses. */
  async set(host: string, ...addresses: string[]): Promise<void> {
    await this.#manage('/clear-a', { host: `${host}.` })
    if (addresses.length > 0) await this.#manage('/add-a', { host: `${host}.`, addresses })
  }

  /** A command for LONGSHORE_DNS_HOOK. */
  hook(): string {
    const file = path.join(this.#dir, 'hook.mjs')
    const text = `#!${process.execPath}
const [action, host, value] = process.argv.slice(2)
const path = action === 'present' ? 'set-txt' : 'clear-txt'
const body = JSON.stringify({ host: host + '.', value })
const answer = await fetch('http://127.0.0.1:${this.#management}/' + path, { method: 'POST', body })
process.exit(answer.ok ? 0 : 1)
`
    writeFileSync(file, text)
    chmodSync(file, 0o755)
    return file
  }

  async goAway(): Promise<void> {
    await ended(this.#authority)
  }

  async comeBack(): Promise<void> {
    this.#authority = this.#start()
    await this.#ready()
  }

  async stop(): Promise<void> {
    await Promise.all([ended(this.#authority), ended(this.#dnsServer)])
    await removeFolder(this.#dir)
  }

  async #ready(): Promise<void> {
    const { acmeSend } = await import('../../src/acme/send.ts')
    const { systemClock } = await import('../../src/clock.ts')
    const send = acmeSend({ caFile: this.caFile, clock: systemClock })
    await untilRead(
      () => send({ url: this.url, method: 'GET' }),
      ({ status }) => status === 200,
      'Pebble',
    )
    await untilRead(
      () => this.#manage('/clear-a', { host: 'x.' }),
      () => true,
      'the DNS server',
    )
  }

  #manage(place: string, input: object): Promise<void> {
    return new Promise((resolve, reject) => {
      const target = { port: this.#management, host: '127.0.0.1', path: place, method: 'POST' }
      const request = http.request(target, (response) => {
        response.resume()
        response.on('end', () => (response.statusCode === 200 ? resolve() : reject(new Error(place))))
      })
      request.on('error', reject)
      request.end(JSON.stringify(input))
    })
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await exit
}
