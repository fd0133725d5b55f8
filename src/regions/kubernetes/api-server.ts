import http from 'node:http'
import https from 'node:https'
import { createInterface } from 'node:readline'
import { KubeConfig } from '@kubernetes/client-node'
import { raceAbort } from '../../race-abort.ts'
import { spawnChild } from '../../spawn-child.ts'

const callTimeoutMs = 15_000
/** For a connection to a pod, which a node has to open too. */
const handshakeTimeoutMs = 30_000
/** The API server sends a bookmark a minute: a watch that is silent for longer is broken. */
const silenceMs = 150_000
/** Connections that are kept open, for all calls of a region. */
const mostConnections = 32
/** Requests only the metadata of objects, not the rest of a large list or of a Secret. */
const metadataOnly = 'application/json;g=meta.k8s.io;v=v1;as=PartialObjectMetadata'

interface Body {
  type: string
  text: string
}

interface CallOptions {
  signal: AbortSignal
  /** Absent: the whole object as JSON. */
  accept?: string | undefined
  body?: Body | undefined
}

/** The API server answered with a status that is no success. */
export class ApiRefusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/**
 * A kubeconfig whose calls share connections and end after a time: the library opens a connection for each call, and
 * waits for an answer without limit.
 */
export class ClusterConfig extends KubeConfig {
  #agent: { key: string; agent: https.Agent } | null = null

  constructor() {
    super()
    const { authenticators } = this as unknown as {
      authenticators: Partial<Record<'execFn', typeof spawnChild>>[]
    }
    // The library starts a program that gets credentials without a limit, and again for each call.
    for (const one of authenticators) if (one.execFn) one.execFn = spawnInTime
  }

  /** The library passes the options to its WebSockets too, which it would let wait forever for a node. */
  override async applyToHTTPSOptions(options: https.RequestOptions & { handshakeTimeout?: number }) {
    await super.applyToHTTPSOptions(options)
    options.handshakeTimeout = handshakeTimeoutMs
  }

  /** Throws `ApiRefusal`, or the error of the connection. */
  async getJson<T>(path: string, query: Record<string, string>, accept?: string): Promise<T> {
    const how = { signal: AbortSignal.timeout(callTimeoutMs), accept }
    const answer = await this.#call('GET', path, query, how)
    return JSON.parse(await textOf(answer)) as T
  }

  /** The metadata of one object. */
  getMetadata<T>(path: string): Promise<T> {
    return this.getJson(path, {}, metadataOnly)
  }

  /** The metadata of a page of objects. */
  listMetadata<T>(path: string, query: Record<string, string>): Promise<T> {
    return this.getJson(path, query, `${metadataOnly}List`)
  }

  /** A call that changes something; throws as `getJson` does. Returns the metadata of the object. */
  async change<T>(
    method: 'PATCH' | 'DELETE',
    path: string,
    query: Record<string, string>,
    body?: Body,
  ): Promise<T> {
    // An object that is removed is answered in full or as a status.
    const accept = method === 'PATCH' ? metadataOnly : undefined
    const how = { signal: AbortSignal.timeout(callTimeoutMs), accept, body }
    const answer = await this.#call(method, path, query, how)
    // Read to its end, so that the connection can be used again.
    return JSON.parse(await textOf(answer)) as T
  }

  /** The lines of an answer, until the server ends it. */
  async *lines(path: string, query: Record<string, string>, signal: AbortSignal): AsyncIterable<string> {
    const answer = await this.#call('GET', path, query, { signal })
    answer.setTimeout(silenceMs, () =>
      answer.destroy(new Error('the API server has been silent for too long')),
    )
    const failed = new Promise<never>((_resolve, reject) => answer.once('error', reject))
    failed.catch(() => {})
    const lines = createInterface({ input: answer, crlfDelay: Number.POSITIVE_INFINITY })
    try {
      yield* lines
      // The interface ends in silence when its input breaks.
      if (!answer.complete) await Promise.race([failed, Promise.reject(new Error('the watch broke off'))])
    } finally {
      lines.close()
      answer.destroy()
    }
  }

  async #call(
    method: string,
    path: string,
    query: Record<string, string>,
    { signal, accept = 'application/json', body }: CallOptions,
  ): Promise<http.IncomingMessage> {
    const url = new URL(`${this.#cluster().server.replace(/\/$/, '')}/${path}`)
    url.search = new URLSearchParams(query).toString()
    const isTls = url.protocol === 'https:'
    // A program that gets credentials takes no signal.
    const options = await raceAbort(this.#options(), signal)
    const agent = isTls ? { agent: this.#agentOf(options) } : {}
    const type = body ? { 'content-type': body.type } : {}
    const headers = { ...options.headers, ...type, accept }
    const answer = await new Promise<http.IncomingMessage>((resolve, reject) => {
      const { request } = isTls ? https : http
      request(url, { ...options, ...agent, method, headers, signal }, resolve)
        .once('error', reject)
        .end(body?.text)
    })
    const { statusCode = 0 } = answer
    if (statusCode >= 200 && statusCode < 300) return answer
    throw new ApiRefusal(statusCode, messageIn(await textOf(answer)))
  }

  #cluster() {
    const cluster = this.getCurrentCluster()
    if (!cluster) throw new Error('the kubeconfig has no cluster for its context')
    return cluster
  }

  /** Credentials may change while this runs, as a token in a file does. */
  async #options(): Promise<https.RequestOptions> {
    const options: https.RequestOptions = {}
    await this.applyToHTTPSOptions(options)
    return options
  }

  #agentOf(options: https.RequestOptions): https.Agent {
    // The library makes one for the proxy of the kubeconfig.
    if (this.#cluster().proxyUrl && options.agent instanceof https.Agent) return options.agent
    const { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername } = options
    const own = { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername }
    const text = JSON.stringify(Object.values(own).map((value) => value?.toString()))
    if (this.#agent?.key !== text) {
      this.#agent?.agent.destroy()
      const given = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined))
      const agent = new https.Agent({ ...given, keepAlive: true, maxSockets: mostConnections })
      this.#agent = { key: text, agent }
    }
    return this.#agent.agent
  }
}

const spawnInTime = ((command: string, args: string[], options: object) =>
  spawnChild(command, args, {
    ...options,
    timeout: callTimeoutMs,
    killSignal: 'SIGKILL',
  })) as typeof spawnChild

async function textOf(answer: http.IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of answer) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}

function messageIn(body: string): string {
  try {
    return String((JSON.parse(body) as { message?: unknown }).message ?? body)
  } catch {
    return body.slice(0, 200)
  }
}
