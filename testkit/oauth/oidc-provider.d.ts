/** The part of the library that the tests use; it ships no types. */
declare module 'oidc-provider' {
  import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

  interface Interaction {
    params: Record<string, unknown>
    prompt: { name: string }
    session?: { accountId: string }
  }
  export default class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>)
    callback(): RequestListener
    interactionDetails(req: IncomingMessage, res: ServerResponse): Promise<Interaction>
    interactionFinished(req: IncomingMessage, res: ServerResponse, result: object): Promise<void>
    Grant: new (of: {
      accountId: string
      clientId: string
    }) => { addResourceScope(resource: string, scope: string): void; save(): Promise<string> }
  }
}
