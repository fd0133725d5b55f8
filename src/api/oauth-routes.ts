import type { FastifyInstance, FastifyReply } from 'fastify'
import { resourceMetadataPath, serverMetadataPath } from '../oauth/addresses.ts'
import { OAuthError } from '../oauth/oauth-error.ts'
import {
  type EmbeddedServer,
  type OAuthRoutes,
  oauthPaths,
  resourceMetadata,
  serverMetadata,
} from '../oauth/server.ts'
import type { ConsoleSessions } from '../operations/access/console-sessions.ts'
import { addConsentRoutes } from './consent-routes.ts'
import { type BodyLimits, readFormBody, readJsonBody } from './json-body.ts'

const limits: BodyLimits = { bytes: 32 * 1024, timeoutMs: 15_000 }

/** Adds the metadata of `/mcp`, and the embedded authorization server with the routes of its consent page. */
export function addOAuthRoutes(
  app: FastifyInstance,
  routes: OAuthRoutes,
  sessions: ConsoleSessions | undefined,
): void {
  app.get(resourceMetadataPath, async ({ headers }) =>
    JSON.stringify(resourceMetadata(routes, routes.addresses(headers.host))),
  )
  const { server } = routes
  if (server === null) return
  app.get(serverMetadataPath, async ({ headers }) =>
    JSON.stringify(serverMetadata(routes.addresses(headers.host))),
  )
  // One parameter that the page passes on as it is: parsing and writing a client's parameters again could change them.
  app.get(oauthPaths.authorize, async (request, reply) => {
    const query = request.raw.url?.split('?')[1] ?? ''
    return reply
      .code(303)
      .header('location', `${oauthPaths.consent}?request=${encodeURIComponent(query)}`)
      .send()
  })
  addTokenRoutes(app, server)
  if (sessions !== undefined) addConsentRoutes(app, { routes, server, sessions })
}

function addTokenRoutes(app: FastifyInstance, { tokens, clients }: EmbeddedServer): void {
  app.post(oauthPaths.token, (request, reply) =>
    answer(reply, 200, async () => tokens.answer(await readFormBody(request.raw, limits), request.ip)),
  )
  app.post(oauthPaths.revoke, (request, reply) =>
    answer(reply, 200, async () => {
      await tokens.revoke(await readFormBody(request.raw, limits))
      return {}
    }),
  )
  app.post(oauthPaths.register, (request, reply) =>
    answer(reply, 201, async () => {
      const client = await clients.register(await readJsonBody(request.raw, limits), request.ip)
      return {
        client_id: client.clientId,
        client_name: client.name,
        redirect_uris: client.redirectUris,
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      }
    }),
  )
}

/** Sends the result, or an `OAuthError` in the form of RFC 6749, 5.2. */
async function answer(
  reply: FastifyReply,
  status: number,
  work: () => Promise<object>,
): Promise<FastifyReply> {
  try {
    return reply.code(status).send(JSON.stringify(await work()))
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    const { code, description, retryAfterSeconds } = error
    if (retryAfterSeconds !== null) reply.header('retry-after', String(retryAfterSeconds))
    return reply
      .code(retryAfterSeconds === null ? 400 : 429)
      .send(JSON.stringify({ error: code, error_description: description }))
  }
}
