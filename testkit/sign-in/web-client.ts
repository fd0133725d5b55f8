interface Sent {
  body?: unknown
  headers?: Record<string, string>
}

/** A browser without pages: it sends what the console's own pages send, and keeps cookies. */
export class WebClient {
  readonly cookies = new Map<string, string>()

  constructor(readonly origin: string) {}

  async send(method: string, path: string, { body, headers }: Sent = {}): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await fetch(new URL(path, this.origin), {
      method,
      redirect: 'manual',
      headers: {
        'longshore-console': '1',
        origin: this.origin,
        'sec-fetch-site': 'same-origin',
        ...(cookie === '' ? {} : { cookie }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
      if (/Max-Age=0\b/.test(line)) this.cookies.delete(name!)
      else this.cookies.set(name!, value!)
    }
    return answer
  }

  post(path: string, body: unknown): Promise<Response> {
    return this.send('POST', path, { body })
  }

  /** An operation of the API, with the session. */
  async call(method: string, path: string, input: Record<string, unknown> = {}) {
    const inQuery = method === 'GET' || method === 'DELETE'
    const query = inQuery ? `?${new URLSearchParams(input as Record<string, string>)}` : ''
    const answer = await this.send(method, `/api/public/v1${path}${query}`, inQuery ? {} : { body: input })
    const text = await answer.text()
    return { status: answer.status, rule: answer.headers.get('longshore-rule'), text, json: JSON.parse(text) }
  }

  /** The signed-in user's address; null without a session. */
  async email(): Promise<string | null> {
    const { status, json } = await this.call('GET', '/user')
    return status === 200 ? json.email : null
  }
}
