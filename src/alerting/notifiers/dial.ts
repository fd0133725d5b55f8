import { lookup as systemLookup } from 'node:dns/promises'
import { isIP, type Socket } from 'node:net'
import type { Agent } from 'undici'
import type { Clock } from '../../clock.ts'
import { isPublicAddress } from './address-check.ts'

export type Resolve = (hostname: string) => Promise<string[]>

export interface DialOptions {
  clock: Clock
  allowPrivate: boolean
  /** Deadline of the whole request: name, connection and response. */
  deadlineMs?: number
  resolve?: Resolve
}

/** Runs `work` with an agent that can only reach the checked address of `url`. Throws; see `dialFailure`. */
type Dial = <T>(
  /** `trusted`: the operator's own address, which may be private; never a tenant's. */
  target: { url: string; trusted?: boolean },
  work: (agent: Agent, url: URL, signal: AbortSignal) => Promise<T>,
) => Promise<T>

const defaultDeadlineMs = 10_000

/** A rejection with our own message. */
class Refused extends Error {
  readonly retry: boolean
  constructor(reason: string, retry: boolean) {
    super(reason)
    this.retry = retry
  }
}

class Late extends Error {}

/** Resolves the name, checks every address, connects to the checked one and verifies the connection, by a deadline. */
export function createDial(options: DialOptions): Dial {
  const { clock, allowPrivate, deadlineMs = defaultDeadlineMs } = options
  const resolve = sharedResolve(options.resolve ?? systemResolve)
  return async (target, work) => {
    const gate = new AbortController()
    const cancel = clock.after(deadlineMs, () => gate.abort())
    const isOpen = allowPrivate || target.trusted === true
    let agent: Agent | null = null
    try {
      const url = new URL(target.url)
      const address = await orAborted(checkedAddress(url, resolve, isOpen), gate.signal)
      agent = await agentFor(address, isOpen)
      return await work(agent, url, gate.signal)
    } catch (error) {
      throw gate.signal.aborted ? new Late() : error
    } finally {
      cancel()
      void agent?.destroy().catch(() => {})
    }
  }
}

/** Why a dial failed, in words that never quote the address. */
export function dialFailure(
  error: unknown,
  deadlineMs = defaultDeadlineMs,
): { message: string; retry: boolean } {
  if (error instanceof Late) return { message: `no answer within ${deadlineMs / 1000} s`, retry: true }
  if (error instanceof Refused) return { message: error.message, retry: error.retry }
  return { message: failureText(error), retry: true }
}

/** The address to connect to. A name with any private address is rejected. */
async function checkedAddress(url: URL, resolve: Resolve, isOpen: boolean): Promise<string> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const addresses = isIP(host) ? [host] : await resolve(host)
  const [first] = addresses
  if (first === undefined) throw new Refused('the name of the receiver does not resolve', true)
  if (!isOpen && !addresses.every(isPublicAddress)) throw privateAddress()
  return first
}

function privateAddress(): Refused {
  return new Refused(
    'the address of the receiver is private; the operator can allow it with LONGSHORE_ALLOW_PRIVATE_WEBHOOKS',
    false,
  )
}

/** Connects to the checked address, whatever the name resolves to by then, and verifies the peer address. */
async function agentFor(address: string, isOpen: boolean): Promise<Agent> {
  const { Agent, buildConnector } = await import('../../http-client.ts')
  const family = isIP(address)
  const connect = buildConnector({
    lookup: (_hostname, options, callback) => {
      if (options.all) callback(null, [{ address, family }])
      else callback(null, address, family)
    },
  })
  return new Agent({
    connections: 1,
    pipelining: 1,
    connect(options, callback) {
      connect(options, (...result) => {
        const [error, socket] = result
        if (error || isOpen || isPublicAddress((socket as Socket).remoteAddress ?? '')) callback(...result)
        else {
          socket.destroy()
          callback(privateAddress(), null)
        }
      })
    },
  })
}

/** One lookup per name at a time: a name server that does not answer blocks one thread instead of all. */
function sharedResolve(resolve: Resolve): Resolve {
  const lookups = new Map<string, Promise<string[]>>()
  return (hostname) => {
    const known = lookups.get(hostname)
    if (known) return known
    const answer = resolve(hostname).finally(() => lookups.delete(hostname))
    lookups.set(hostname, answer)
    return answer
  }
}

async function systemResolve(hostname: string): Promise<string[]> {
  try {
    const found = await systemLookup(hostname, { all: true, verbatim: true })
    return found.map(({ address }) => address)
  } catch {
    throw new Refused('the name of the receiver does not resolve', true)
  }
}

function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  work.catch(() => {})
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    work.then(resolve, reject)
  })
}

/** A message derived only from the error code: messages of libraries may contain the address. */
function failureText(error: unknown): string {
  const code = codeOf(error)
  if (code === 'ECONNREFUSED') return 'the receiver refused the connection'
  if (code === 'ECONNRESET' || code === 'UND_ERR_SOCKET' || code === 'EPIPE') {
    return 'the receiver broke the connection'
  }
  if (/TIMEOUT|ETIMEDOUT/.test(code)) return 'the receiver did not answer in time'
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code)) {
    return 'the certificate of the receiver is not trusted'
  }
  if (/^E(NET|HOST)UNREACH$/.test(code)) return 'the receiver cannot be reached'
  if (/^HPE_|UND_ERR_/.test(code)) return 'the receiver does not speak HTTP'
  return 'the connection to the receiver failed'
}

function codeOf(error: unknown): string {
  let current = error
  for (let depth = 0; depth < 4 && typeof current === 'object' && current !== null; depth += 1) {
    const { code, cause } = current as { code?: unknown; cause?: unknown }
    if (typeof code === 'string') return code
    current = cause
  }
  return ''
}
