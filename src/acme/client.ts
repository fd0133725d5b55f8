import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { type Clock, sleep } from '../clock.ts'
import { AcmeError, problemOf } from './error.ts'
import { keyAuthorization, signedBody } from './jws.ts'
import type { AcmeAnswer, AcmeSend } from './send.ts'

/** An account at the certificate authority. */
export interface AcmeAccount {
  url: string
  /** PEM. */
  key: string
}

export interface Order {
  status: 'pending' | 'ready' | 'processing' | 'valid' | 'invalid'
  authorizations: string[]
  finalize: string
  certificate?: string
  error?: unknown
}

interface Challenge {
  type: string
  url: string
  token: string
  status: string
  error?: unknown
}

export interface Authorization {
  status: 'pending' | 'valid' | 'invalid' | 'deactivated' | 'expired' | 'revoked'
  challenges: Challenge[]
}

interface Directory {
  newNonce: string
  newAccount: string
  newOrder: string
  renewalInfo?: string
  meta?: { profiles?: Record<string, string>; externalAccountRequired?: boolean }
}

interface AcmeClientOptions {
  url: string
  email: string | undefined
  clock: Clock
  send: AcmeSend
}

const mostNonces = 20
const usualPollMs = 1_000
const longestPollMs = 30_000
const pollForMs = 5 * 60_000

/** The protocol with one certificate authority (RFC 8555, RFC 9773). Throws `AcmeError`. */
export class AcmeClient {
  readonly #options: AcmeClientOptions
  #directory: Directory | null = null
  #nonce: string | null = null

  constructor(options: AcmeClientOptions) {
    this.#options = options
  }

  /** Makes an account with a new key. */
  async register(): Promise<AcmeAccount> {
    const { newAccount, meta } = await this.directory()
    if (meta?.externalAccountRequired) {
      throw new AcmeError(
        'externalAccountRequired',
        'This certificate authority needs an account made elsewhere.',
      )
    }
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const { email } = this.#options
    const contact = email === undefined ? {} : { contact: [`mailto:${email}`] }
    const answer = await this.#post(
      newAccount,
      { termsOfServiceAgreed: true, ...contact },
      { key: privateKey },
    )
    const url = answer.headers.location
    if (url === undefined) throw new AcmeError('malformed', 'The new account has no address.')
    return { url, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string }
  }

  async directory(): Promise<Directory> {
    this.#directory ??= await this.#get<Directory>(this.#options.url)
    return this.#directory
  }

  /** `replaces`: the id of the certificate that it renews. */
  async newOrder(
    account: AcmeAccount,
    {
      names,
      profile,
      replaces,
    }: { names: readonly string[]; profile: string | null; replaces: string | null },
  ): Promise<{ url: string; order: Order }> {
    const { newOrder, renewalInfo } = await this.directory()
    const identifiers = names.map((value) => ({ type: 'dns', value }))
    const answer = await this.#post(
      newOrder,
      {
        identifiers,
        ...(profile === null ? {} : { profile }),
        ...(replaces === null || renewalInfo === undefined ? {} : { replaces }),
      },
      signer(account),
    )
    const url = answer.headers.location
    if (url === undefined) throw new AcmeError('malformed', 'The new order has no address.')
    return { url, order: answer.json as Order }
  }

  authorization(account: AcmeAccount, url: string): Promise<Authorization> {
    return this.#read(account, url)
  }

  /** What the challenge with this token has to show. */
  proof({ key }: AcmeAccount, token: string): string {
    return keyAuthorization(token, createPrivateKey(key))
  }

  /** Tells the authority that the challenge can be validated. */
  async respond(account: AcmeAccount, url: string): Promise<void> {
    await this.#post(url, {}, signer(account))
  }

  async finalize(account: AcmeAccount, url: string, request: Buffer): Promise<void> {
    await this.#post(url, { csr: request.toString('base64url') }, signer(account))
  }

  /** The chain in PEM. */
  async certificate(account: AcmeAccount, url: string): Promise<string> {
    return (await this.#post(url, undefined, signer(account))).text
  }

  /** Reads an object until it fits, as often as the authority asks for. */
  async poll<T>(account: AcmeAccount, url: string, fits: (value: T) => boolean): Promise<T> {
    const { clock } = this.#options
    const untilMs = clock.monotonicMs() + pollForMs
    for (;;) {
      const answer = await this.#post(url, undefined, signer(account))
      if (fits(answer.json as T)) return answer.json as T
      if (clock.monotonicMs() > untilMs) {
        throw new AcmeError('timeout', 'The certificate authority did not finish in time.')
      }
      await sleep(clock, Math.min(longestPollMs, answer.retryAfterMs ?? usualPollMs))
    }
  }

  /** When the authority wants a certificate to be renewed; null if it does not say. */
  async renewalInfo(id: string): Promise<{ start: string; end: string; retryAfterMs: number | null } | null> {
    const { renewalInfo } = await this.directory()
    if (renewalInfo === undefined) return null
    const answer = await this.#options.send({ url: `${renewalInfo.replace(/\/$/, '')}/${id}`, method: 'GET' })
    if (answer.status !== 200) throw problemOf(answer.json, answer.status, answer.retryAfterMs)
    const { suggestedWindow } = (answer.json ?? {}) as { suggestedWindow?: { start: string; end: string } }
    if (!suggestedWindow) return null
    return { ...suggestedWindow, retryAfterMs: answer.retryAfterMs }
  }

  async #read<T>(account: AcmeAccount, url: string): Promise<T> {
    return (await this.#post(url, undefined, signer(account))).json as T
  }

  async #get<T>(url: string): Promise<T> {
    const answer = await this.#options.send({ url, method: 'GET' })
    if (answer.status !== 200) throw problemOf(answer.json, answer.status, answer.retryAfterMs)
    return answer.json as T
  }

  /** A nonce is good once, and the authority may refuse any: its answer brings the next one. */
  async #post(url: string, payload: unknown, { key, kid }: Signer): Promise<AcmeAnswer> {
    for (let turn = 1; ; turn++) {
      const nonce = await this.#takeNonce()
      const header = { nonce, url, ...(kid === undefined ? {} : { kid }) }
      const answer = await this.#options.send({ url, method: 'POST', body: signedBody(payload, header, key) })
      this.#nonce = answer.headers['replay-nonce'] ?? null
      if (answer.status < 300) return answer
      const error = problemOf(answer.json, answer.status, answer.retryAfterMs)
      if (error.type !== 'badNonce' || turn >= mostNonces) throw error
    }
  }

  async #takeNonce(): Promise<string> {
    const nonce = this.#nonce
    this.#nonce = null
    if (nonce !== null) return nonce
    const { newNonce } = await this.directory()
    const answer = await this.#options.send({ url: newNonce, method: 'HEAD' })
    const fresh = answer.headers['replay-nonce']
    if (fresh === undefined) throw problemOf(answer.json, answer.status, answer.retryAfterMs)
    return fresh
  }
}

interface Signer {
  key: KeyObject
  kid?: string
}

function signer({ url, key }: AcmeAccount): Signer {
  return { kid: url, key: createPrivateKey(key) }
}
