import type { z } from 'zod'
import type { Consent, ConsentAnswer, consentDecision } from '../../src/contract/consent.ts'
import type { TestPlatform } from '../platform/test-platform.ts'

type Decision = Omit<z.input<typeof consentDecision>, 'request' | 'approve'>

/** A person at the console: a browser session that reads and decides requests of clients. */
export class Person {
  private constructor(
    private readonly origin: string,
    private readonly cookie: string,
  ) {}

  static async signIn({ apiUrl }: TestPlatform, token: string, origin = apiUrl): Promise<Person> {
    const answer = await fetch(`${origin}/console/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'longshore-console': '1' },
      body: JSON.stringify({ token }),
    })
    if (answer.status !== 200) throw new Error(`sign-in: ${answer.status} ${await answer.text()}`)
    return new Person(origin, answer.headers.get('set-cookie')!.split(';')[0]!)
  }

  /** The first read of the page at `authorizationUrl`. */
  async sees(authorizationUrl: URL): Promise<Consent> {
    const request = encodeURIComponent(await requestAt(authorizationUrl))
    const answer = await this.send(`/console/authorization?request=${request}`)
    return (await answer.json()) as Consent
  }

  /** Approves and follows the redirect only as far as its address. */
  async approves(authorizationUrl: URL, decision: Decision = {}): Promise<URL> {
    const scopes = decision.scopes ?? allOf(await this.sees(authorizationUrl))
    return this.#decides(authorizationUrl, { ...decision, scopes, approve: true })
  }

  async denies(authorizationUrl: URL): Promise<URL> {
    return this.#decides(authorizationUrl, { approve: false })
  }

  send(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(this.origin + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        cookie: this.cookie,
        'longshore-console': '1',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  }

  async #decides(authorizationUrl: URL, decision: Decision & { approve: boolean }): Promise<URL> {
    const request = await requestAt(authorizationUrl)
    const answer = await this.send('/console/authorization', { request, ...decision })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`consent: ${answer.status} ${text}`)
    return new URL((JSON.parse(text) as ConsentAnswer).redirectTo)
  }
}

function allOf(consent: Consent) {
  return 'scopes' in consent ? consent.scopes : []
}

/** The request that the authorization endpoint hands to the page. */
async function requestAt(authorizationUrl: URL): Promise<string> {
  const { headers } = await fetch(authorizationUrl, { redirect: 'manual' })
  const page = new URL(headers.get('location') ?? '', authorizationUrl)
  return page.searchParams.get('request') ?? ''
}
