import { createHash, randomBytes } from 'node:crypto'
import { callTool } from './call-tool.ts'

type Params = Record<string, string | undefined>

/** A client without a library, so that a test can send anything. */
export class RawClient {
  readonly verifier = randomBytes(32).toString('base64url')
  readonly challenge = createHash('sha256').update(this.verifier).digest('base64url')

  constructor(
    readonly apiUrl: string,
    readonly clientId: string,
    readonly redirectUri: string,
  ) {}

  static async register(apiUrl: string, redirectUri: string, more: object = {}): Promise<RawClient> {
    const answer = await registerAt(apiUrl, {
      redirect_uris: [redirectUri],
      client_name: 'Raw client',
      ...more,
    })
    const { client_id } = (await answer.json()) as { client_id: string }
    return new RawClient(apiUrl, client_id, redirectUri)
  }

  /** The address to open in the browser; `changes` replace parameters, undefined leaves one out. */
  url(changes: Params = {}, tail = ''): URL {
    const params = {
      response_type: 'code',
      client_id: this.clientId,
      redirect_uri: this.redirectUri,
      state: 'the-state',
      code_challenge: this.challenge,
      code_challenge_method: 'S256',
      scope: 'environments:read environments:write',
      resource: `${this.apiUrl}/mcp`,
      ...changes,
    }
    return new URL(`${this.apiUrl}/oauth/authorize?${formOf(params)}${tail}`)
  }

  exchange(code: string, changes: Params = {}): Promise<Response> {
    return this.post('/oauth/token', {
      grant_type: 'authorization_code',
      code,
      client_id: this.clientId,
      redirect_uri: this.redirectUri,
      code_verifier: this.verifier,
      ...changes,
    })
  }

  refresh(token: string, changes: Params = {}): Promise<Response> {
    const grant_type = 'refresh_token'
    return this.post('/oauth/token', {
      grant_type,
      refresh_token: token,
      client_id: this.clientId,
      ...changes,
    })
  }

  post(path: string, params: Params): Promise<Response> {
    return fetch(this.apiUrl + path, { method: 'POST', body: formOf(params) })
  }

  /** The status of a tool call with this token. */
  async statusOf(token: string, name = 'list-accounts', args: object = {}): Promise<number> {
    return (await callTool(this.apiUrl, token, name, args)).status
  }
}

export function registerAt(apiUrl: string, metadata: object): Promise<Response> {
  return fetch(`${apiUrl}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(metadata),
  })
}

function formOf(params: Params): URLSearchParams {
  const given = Object.entries(params).filter((pair): pair is [string, string] => pair[1] !== undefined)
  return new URLSearchParams(given)
}
