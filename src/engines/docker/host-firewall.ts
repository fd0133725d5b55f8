import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import type { Log } from '../../log.ts'
import { spawnChild } from '../../spawn-child.ts'
import type { Isolation } from '../engine.ts'
import type { AddressMode } from './address-mode.ts'
import { firewallScript, nameserversIn } from './firewall-rules.ts'

const run = promisify(execFile)
const programs = ['iptables', 'iptables-nft', 'iptables-legacy']
/** Timeout for the lock that Docker and others hold while they change rules. */
const lockSeconds = '5'
const deadlineMs = 15_000

interface FirewallOptions {
  /** See `FirewallState`. */
  id: string
  /** Lets containers use instance metadata and this machine's services. */
  open: boolean
  openPorts: readonly number[]
  log: Log
}

/** Blocks containers of the account networks from instance metadata and from this machine's own services. */
export class HostFirewall {
  readonly #options: FirewallOptions
  #isolation: Isolation = { metadataBlocked: false, reason: 'The firewall is not set up yet.' }
  #work: Promise<unknown> = Promise.resolve()

  constructor(options: FirewallOptions) {
    this.#options = options
  }

  get isolation(): Isolation {
    return this.#isolation
  }

  /** Updates the rules for these bridges, one call at a time. Never throws; `isolation` reports the result. */
  protect(addressMode: AddressMode, bridges: () => Promise<string[]>): Promise<void> {
    const work = this.#work.then(() => this.#protect(addressMode, bridges))
    this.#work = work
    return work
  }

  async #protect(addressMode: AddressMode, bridges: () => Promise<string[]>): Promise<void> {
    const reason = await this.#apply(addressMode, bridges).catch((error: unknown) => {
      this.#options.log.debug({ err: error }, 'cannot change the firewall')
      return 'The firewall of this machine could not be changed.'
    })
    const changed = reason !== (this.#isolation.reason ?? null)
    this.#isolation = reason === null ? { metadataBlocked: true } : { metadataBlocked: false, reason }
    if (reason !== null && changed) {
      const level = this.#options.open ? 'info' : 'warn'
      this.#options.log[level](
        { reason },
        'containers can reach instance metadata and services of this machine',
      )
    }
  }

  /** Null if the rules are in effect, otherwise the reason. */
  async #apply(addressMode: AddressMode, bridges: () => Promise<string[]>): Promise<string | null> {
    const { id, open, openPorts } = this.#options
    if (addressMode !== 'container ip') {
      return open ? opened : 'The container engine does not run on this machine’s own network.'
    }
    const found = await findTable()
    if ('reason' in found) return open ? opened : found.reason
    const wanted = open ? [] : await bridges()
    const desiredState = { id, bridges: wanted, nameservers: await nameservers(), openPorts }
    const script = firewallScript(desiredState, found.rules)
    if (script !== '') await restore(found.program, script)
    return open ? opened : null
  }
}

const opened = 'LONGSHORE_ALLOW_HOST_ACCESS opens them.'

/** The variant of iptables that Docker uses here, with its current rules. */
async function findTable(): Promise<{ program: string; rules: string } | { reason: string }> {
  const problems: string[] = []
  for (const program of programs) {
    try {
      const { stdout } = await run(program, ['-w', lockSeconds, '-S'], { timeout: deadlineMs })
      if (stdout.includes('-N DOCKER-USER\n')) return { program, rules: stdout }
      problems.push('Docker does not manage the firewall of this machine (no chain DOCKER-USER).')
    } catch (error) {
      const missing = (error as NodeJS.ErrnoException).code === 'ENOENT'
      problems.push(
        missing
          ? 'iptables is not installed on this machine.'
          : 'This process may not change the firewall of this machine; that takes root.',
      )
    }
  }
  return { reason: problems[0]! }
}

async function restore(program: string, script: string): Promise<void> {
  const child = spawnChild(`${program}-restore`, ['-w', lockSeconds, '--noflush'], {
    stdio: ['pipe', 'ignore', 'pipe'],
    timeout: deadlineMs,
  })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  child.stdin.on('error', () => {})
  child.stdin.end(script)
  const [code, errorText] = await Promise.all([ended, text(child.stderr)])
  if (code !== 0) throw new Error(`${program}-restore: ${errorText.trim()}`)
}

/** The name servers that Docker gives to containers: from its own settings, otherwise the machine's. */
async function nameservers(): Promise<string[]> {
  const read = (file: string) => readFile(file, 'utf8').catch(() => '')
  const files = ['/etc/resolv.conf', '/run/systemd/resolve/resolv.conf']
  const texts = await Promise.all(files.map(read))
  const found = [...texts.flatMap(nameserversIn), ...ownNameservers(await read('/etc/docker/daemon.json'))]
  return [...new Set(found)].filter((address) => !address.startsWith('127.'))
}

function ownNameservers(daemonJson: string): string[] {
  try {
    const { dns } = JSON.parse(daemonJson) as { dns?: unknown }
    const listed = Array.isArray(dns) ? dns : []
    return listed.filter((one): one is string => typeof one === 'string' && /^\d+(\.\d+){3}$/.test(one))
  } catch {
    return []
  }
}
