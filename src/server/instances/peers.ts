import { randomBytes } from 'node:crypto'
import os from 'node:os'
import { Readable } from 'node:stream'
import { z } from 'zod'
import { AppError, type ErrorKind, httpStatusOf } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { isLoopback } from '../../loopback.ts'
import type { UploadReceiver } from '../../operations/core/call.ts'
import type { KnownInstance } from '../../store/membership.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import { machineAway } from '../regions/directory.ts'

export const peerPath = '/internal/peer'

/** Loaded with the first call, because a single control plane never makes one. */
const http = () => import('./peer-http.ts')
/** A probe takes 20 s. A read waits within a transaction, so one of a paused machine must not take long. */
const limitMs = (method: string) => (method === 'probe' ? 30_000 : 5_000)

const callShape = z.object({ nonce: z.string(), method: z.string(), input: z.unknown() })
const failureShape = z.object({
  kind: z.enum(Object.keys(httpStatusOf) as [ErrorKind, ...ErrorKind[]]),
  message: z.string(),
  details: z.string().optional(),
})
const replyShape = z.object({ value: z.unknown().optional(), failure: failureShape.optional() })

/** Reads that one control plane does for another, by name, because only its machine has the data. */
export type PeerMethods = Readonly<Record<string, (input: never) => Promise<unknown>>>

/**
 * Calls between control planes. Bodies are sealed with the installation's data key both ways, so that only another
 * control plane of the installation can make a call or read one.
 */
export class Peers {
  readonly #secrets: SecretBox
  readonly #node: string
  readonly #log: Log

  constructor(secrets: SecretBox, node: string, log: Log) {
    this.#secrets = secrets
    this.#node = node
    this.#log = log
  }

  /** Throws the error of the other machine, or `machineAway`. */
  async call<T>(instance: KnownInstance, method: string, input: unknown): Promise<T> {
    const { node } = instance
    const nonce = randomBytes(16).toString('base64url')
    const body = this.#secrets.seal(JSON.stringify({ nonce, method, input }), `peer call to ${node}`)
    const text = await this.#send(instance, body, limitMs(method))
    const clear = this.#opened(text, `peer reply from ${node} to ${nonce}`)
    if (clear === null) throw machineAway(node, new Error('its reply cannot be read'))
    const { value, failure } = replyShape.parse(JSON.parse(clear))
    if (failure) throw new AppError(failure.kind, failure.message, { details: failure.details ?? '' })
    return value as T
  }

  /** Serves one call: sealed text in, sealed text out. Throws `forbidden` for any other sender. */
  async serve(methods: PeerMethods, sealed: string): Promise<string> {
    const clear = this.#opened(sealed, `peer call to ${this.#node}`)
    if (clear === null)
      throw new AppError('forbidden', 'Only control planes of this installation may call this')
    const { nonce, method, input } = callShape.parse(JSON.parse(clear))
    const reply = await this.#perform(methods[method], input)
    return this.#secrets.seal(JSON.stringify(reply), `peer reply from ${this.#node} to ${nonce}`)
  }

  /** The receiver of uploads on another machine; the secret in the address is the permission there too. */
  uploads(instance: KnownInstance): UploadReceiver {
    return {
      async receive(secret, body, declaredLength) {
        const headers: Record<string, string> =
          declaredLength === null ? {} : { 'content-length': String(declaredLength) }
        const url = `${addressOf(instance)}/uploads/${encodeURIComponent(secret)}`
        const { put } = await http()
        const answer = await put(url, Readable.from(body), headers).catch((error) => {
          throw machineAway(instance.node, error)
        })
        const text = await answer.body.text()
        if (answer.statusCode !== 200) throw errorOf(answer.statusCode, text)
      },
    }
  }

  async #perform(
    method: PeerMethods[string] | undefined,
    input: unknown,
  ): Promise<z.input<typeof replyShape>> {
    try {
      if (!method) throw new AppError('invalid', 'This version does not know the call; update it')
      return { value: await method(input as never) }
    } catch (error) {
      if (error instanceof AppError) {
        const { kind, message, details } = error
        return { failure: { kind, message, details } }
      }
      this.#log.error({ err: error }, 'a call of another control plane failed')
      return {
        failure: {
          kind: 'unavailable',
          message: 'The machine could not answer',
          details: 'Its log says why.',
        },
      }
    }
  }

  async #send(instance: KnownInstance, body: string, withinMs: number): Promise<string> {
    try {
      const url = `${addressOf(instance)}${peerPath}`
      const { post } = await http()
      const answer = await post(url, body, withinMs)
      const text = await answer.body.text()
      if (answer.statusCode === 200) return text
      throw new Error(`it responded with ${answer.statusCode}`)
    } catch (error) {
      throw error instanceof AppError ? error : machineAway(instance.node, error)
    }
  }

  #opened(sealed: string, boundTo: string): string | null {
    try {
      return this.#secrets.open(sealed, boundTo)
    } catch {
      return null
    }
  }
}

/** A loopback address leads to this machine, whatever machine published it. */
function addressOf({ node, host, address, isAlive }: KnownInstance): string {
  if (!isAlive || address === '') throw machineAway(node)
  if (!isLoopback(new URL(address).hostname) || host === os.hostname()) return address
  throw new AppError('unavailable', `The machine ${node} cannot be reached from here`, {
    details: `Its control plane listens on ${address}: set LONGSHORE_HOST there to an address of the private network.`,
  })
}

function errorOf(status: number, text: string): AppError {
  const kinds = Object.entries(httpStatusOf) as [ErrorKind, number][]
  const kind = kinds.find(([, known]) => known === status)?.[0] ?? 'unavailable'
  const { error = 'The upload failed', details } = JSON.parse(text || '{}') as {
    error?: string
    details?: string
  }
  return new AppError(kind, error, details === undefined ? {} : { details })
}
