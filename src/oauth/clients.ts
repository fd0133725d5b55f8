import { type Clock, timestamp } from '../clock.ts'
import type { OAuthClient } from '../domain/access/oauth-client.ts'
import { newId } from '../domain/ids.ts'
import { networkOf, RateLimit } from '../operations/core/rate-limit.ts'
import type { Db } from '../store/db.ts'
import {
  countOAuthClients,
  findOAuthClient,
  forgetOldestIdleOAuthClient,
  insertOAuthClient,
} from '../store/repositories/oauth-clients.ts'
import { readClientMetadata, shownClientName } from './client-metadata.ts'
import { OAuthError } from './oauth-error.ts'

/** Fetches a public https address without following redirects; at most `bytes`. Throws `Error` with a public reason. */
export type FetchDocument = (
  url: string,
  bytes: number,
) => Promise<{ status: number; type: string; body: Buffer }>

const documentBytes = 5 * 1024
const documentKeptMs = 10 * 60_000
const mostDocuments = 200
/** Registrations of one address: a burst for a person who tries hosts, then ten in an hour. */
const registrations = { perSecond: 10 / 3600, burst: 20 }
/** Documents are fetched only for signed-in people, and at most this often for one of them. */
const fetches = { perSecond: 0.2, burst: 20 }
const mostRegistered = 1_000
/** A person signs in right after a registration; later ones of strangers must not keep everybody out. */
const unusedKeptMs = 10 * 60_000

export interface OAuthClients {
  /** Throws `invalid_client` for an unknown id and a document that cannot be used. `userId` counts fetches. */
  find(clientId: string, userId: string): Promise<OAuthClient>
  /** Registers a client (RFC 7591). Throws `invalid_client_metadata`, `invalid_redirect_uri`. */
  register(body: unknown, address: string): Promise<OAuthClient>
}

export function createOAuthClients(deps: {
  db: Db
  clock: Clock
  fetchDocument: FetchDocument
}): OAuthClients {
  const { db, clock } = deps
  const documents = new Map<string, { client: OAuthClient; untilMs: number }>()
  const byAddress = new RateLimit(registrations, clock)
  const byUser = new RateLimit(fetches, clock)

  async function findByDocument(clientId: string, userId: string): Promise<OAuthClient> {
    const kept = documents.get(clientId)
    if (kept && kept.untilMs > clock.monotonicMs()) return kept.client
    const wait = byUser.take(userId)
    if (wait > 0) throw tooMany(wait)
    const client = await readDocument(clientId, deps.fetchDocument)
    documents.delete(clientId)
    documents.set(clientId, { client, untilMs: clock.monotonicMs() + documentKeptMs })
    const [oldest] = documents.keys()
    if (documents.size > mostDocuments && oldest !== undefined) documents.delete(oldest)
    return client
  }

  return {
    async find(clientId, userId) {
      if (/^https?:/i.test(clientId)) return findByDocument(clientId, userId)
      const client = await db.read((tx) => findOAuthClient(tx, clientId.slice(0, 100)))
      if (client) return client
      throw new OAuthError(
        'invalid_client',
        'The program is not registered here, or its registration expired. Remove it in the program and connect it again.',
      )
    },

    async register(body, address) {
      const wait = byAddress.take(networkOf(address))
      if (wait > 0) throw tooMany(wait)
      const { client_name, redirect_uris } = readClientMetadata(body)
      const clientId = newId('cli')
      const client = { clientId, name: shownClientName(client_name, clientId), redirectUris: redirect_uris }
      await db.write(async (tx) => {
        const nowMs = clock.wallMs()
        const isFull = (await countOAuthClients(tx)) >= mostRegistered
        const idle = { idleSince: timestamp(nowMs - unusedKeptMs), now: timestamp(nowMs) }
        if (isFull && !(await forgetOldestIdleOAuthClient(tx, idle))) throw tooMany(600)
        await insertOAuthClient(tx, client, timestamp(nowMs))
      })
      return client
    },
  }
}

function tooMany(seconds: number): OAuthError {
  return new OAuthError('temporarily_unavailable', 'Too many requests. Wait, then try again.', {
    retryAfterSeconds: Math.max(1, Math.ceil(seconds)),
  })
}

/**
 * Reads the identity document of a client (draft-ietf-oauth-client-id-metadata-document): the id is the https address
 * of the document, and the document names the same id.
 */
async function readDocument(clientId: string, fetchDocument: FetchDocument): Promise<OAuthClient> {
  const problem = documentAddressProblem(clientId)
  if (problem !== null) throw unusable(problem)
  const { status, type, body } = await fetchDocument(clientId, documentBytes).catch((error: Error) => {
    throw unusable(`it cannot be fetched: ${error.message}`)
  })
  if (status !== 200) throw unusable(`its server answered ${status}`)
  if (!/^application\/(?:json|[a-z0-9.-]+\+json)\s*(?:;|$)/i.test(type)) throw unusable('it is not JSON')
  const document = readClientMetadata(parsed(body))
  if (document.client_id !== clientId) throw unusable('its client_id is another address')
  const { client_name, redirect_uris, token_endpoint_auth_method: method = 'none' } = document
  if (method !== 'none') throw unusable('token_endpoint_auth_method must be none')
  const name = shownClientName(client_name, new URL(clientId).host)
  return { clientId, name, redirectUris: redirect_uris }
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    throw unusable('it is not well-formed JSON')
  }
}

/** The id must be in its plain form, so that two texts never mean one client. */
function documentAddressProblem(clientId: string): string | null {
  if (clientId.length > 500 || !URL.canParse(clientId)) return 'its id is not an address'
  const url = new URL(clientId)
  if (url.protocol !== 'https:') return 'its id must be an https address'
  if (url.href !== clientId || clientId.includes('#') || url.username !== '' || url.password !== '')
    return 'its id must be a plain address, without user, fragment and dot segments'
  return url.pathname === '/' ? 'its id must have a path' : null
}

function unusable(reason: string): OAuthError {
  return new OAuthError(
    'invalid_client',
    `The identity document of the program cannot be used: ${reason}. Only its makers can correct this.`,
  )
}
