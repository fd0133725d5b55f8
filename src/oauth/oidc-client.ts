import { randomBytes } from 'node:crypto'
import type { Configuration } from 'openid-client'
import { type Clock, timestamp } from '../clock.ts'
import { notSignedIn, type OidcPerson } from '../domain/access/oidc-person.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { SecretBox } from '../store/secrets/secret-box.ts'

/** The code flow with PKCE, state and nonce. What an attempt must remember is sealed in a cookie of its browser. */
export interface OidcClient {
  name: string
  /** `fresh`: the provider should ask the person again. Throws `unavailable`. */
  begin(
    redirectUri: string,
    options: { fresh: boolean; next: string },
  ): Promise<{ url: string; sealed: string; maxAgeSeconds: number }>
  /** Throws `unauthenticated` unless the answer is of the provider and belongs to the attempt. */
  finish(query: string, sealed: string | null): Promise<{ person: OidcPerson; next: string }>
}

interface Attempt {
  state: string
  nonce: string
  codeVerifier: string
  redirectUri: string
  next: string
  expiresAt: string
}

interface Deps {
  setting: {
    issuer: string
    clientId: string
    /** Null: a public client. */
    clientSecret: { reveal(): string } | null
    name: string
  }
  secrets: SecretBox
  clock: Clock
  log: Log
}

const attemptMs = 10 * 60_000
const keptMs = 60 * 60_000
const boundTo = 'attempt of OpenID Connect'

export function createOidcClient(deps: Deps): OidcClient {
  const { setting, secrets, clock, log } = deps
  const configuration = keptConfiguration(deps)
  return {
    name: setting.name,

    async begin(redirectUri, { fresh, next }) {
      const library = await import('openid-client')
      const random = () => randomBytes(32).toString('base64url')
      const expiresAt = timestamp(clock.wallMs() + attemptMs)
      const attempt: Attempt = {
        state: random(),
        nonce: random(),
        codeVerifier: random(),
        redirectUri,
        next,
        expiresAt,
      }
      const url = library.buildAuthorizationUrl(await configuration(), {
        ...{ redirect_uri: redirectUri, scope: 'openid email profile' },
        ...{ state: attempt.state, nonce: attempt.nonce, code_challenge_method: 'S256' },
        code_challenge: await library.calculatePKCECodeChallenge(attempt.codeVerifier),
        ...(fresh ? { prompt: 'login', max_age: '0' } : {}),
      })
      const sealed = secrets.seal(JSON.stringify(attempt), boundTo)
      return { url: url.href, sealed, maxAgeSeconds: attemptMs / 1000 }
    },

    async finish(query, sealed) {
      const attempt = openAttempt(secrets, sealed)
      if (!attempt || attempt.expiresAt <= timestamp(clock.wallMs())) throw notSignedIn()
      const library = await import('openid-client')
      const config = await configuration()
      const answered = await library
        .authorizationCodeGrant(config, new URL(`${attempt.redirectUri}?${query}`), {
          expectedState: attempt.state,
          expectedNonce: attempt.nonce,
          pkceCodeVerifier: attempt.codeVerifier,
          idTokenExpected: true,
        })
        .catch((error) => {
          // The library's text may quote the answer.
          log.info({ reason: reasonOf(error) }, 'a sign-in by OpenID Connect was refused')
          throw notSignedIn()
        })
      const person = personOf(answered.claims()!)
      const { state, expiresAt: stateExpiresAt, next } = attempt
      return { person: { ...person, issuer: setting.issuer, state, stateExpiresAt }, next }
    },
  }
}

function openAttempt(secrets: SecretBox, sealed: string | null): Attempt | null {
  try {
    return sealed === null ? null : JSON.parse(secrets.open(sealed, boundTo))
  } catch {
    return null
  }
}

function personOf(claims: Record<string, unknown> & { sub: string }) {
  const { sub: subject, email, email_verified: isVerified, name, groups, auth_time: authTime } = claims
  return {
    subject,
    // Others may have typed an address that is not theirs.
    email: isVerified === true && typeof email === 'string' ? email : null,
    name: typeof name === 'string' ? name : null,
    groups: Array.isArray(groups) ? groups.filter((one): one is string => typeof one === 'string') : [],
    authenticatedAt: typeof authTime === 'number' ? timestamp(Math.max(0, authTime) * 1000) : null,
  }
}

function reasonOf(error: unknown): string {
  const { code, error: named } = error as { code?: unknown; error?: unknown }
  return String(code ?? named ?? 'unknown').slice(0, 100)
}

/** Reads the provider's metadata once an hour. Signatures of ID tokens are checked with its keys. */
function keptConfiguration({ setting, clock, log }: Deps): () => Promise<Configuration> {
  let kept: { config: Promise<Configuration>; untilMs: number } | null = null
  const read = async (): Promise<Configuration> => {
    const library = await import('openid-client')
    const { issuer, clientId, clientSecret } = setting
    const secret = clientSecret?.reveal()
    const authentication = secret === undefined ? library.None() : library.ClientSecretPost(secret)
    const execute = [library.enableNonRepudiationChecks]
    // The setting allows http on this machine only.
    if (issuer.startsWith('http:')) execute.push(library.allowInsecureRequests)
    return library.discovery(new URL(issuer), clientId, secret, authentication, { execute, timeout: 10 })
  }
  return async () => {
    if (kept === null || kept.untilMs <= clock.monotonicMs())
      kept = { config: read(), untilMs: clock.monotonicMs() + keptMs }
    try {
      return await kept.config
    } catch (error) {
      kept = null
      log.warn({ reason: reasonOf(error) }, 'the provider of OpenID Connect cannot be read')
      throw new AppError('unavailable', 'The provider cannot be reached', {
        details: 'Try again shortly, or sign in another way. The operator finds the cause in the log.',
        retryAfterSeconds: 5,
      })
    }
  }
}
