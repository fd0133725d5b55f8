import type { FastifyInstance, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { apiPrefix } from '../contract/operation.ts'
import { errorBody } from './error-response.ts'
import { referencePath } from './reference-routes.ts'

export interface StatusSources {
  /** Whether the platform can accept work; `problems` are shown to the operator. */
  readiness: () => Promise<{ ready: boolean; problems: string[] }>
  /** The control planes that share the installation, for `known` callers of `/readyz`; absent = there is one. */
  sharing?: (() => Record<string, unknown>) | undefined
  /** Counters in the Prometheus text format; with the installation's identity only if the caller is `known`. */
  metricsText: (known: boolean) => string | Promise<string>
  hasMcp: boolean
  hasReference: boolean
  hasConsole: boolean
}

/** Adds `/healthz` (liveness), `/readyz` (readiness), `/metrics` and a front page. */
export function addStatusRoutes(
  app: FastifyInstance,
  sources: StatusSources,
  isKnown: (request: FastifyRequest) => Promise<boolean>,
): void {
  const get = (url: string, handler: RouteHandlerMethod) =>
    app.get(url, { exposeHeadRoute: true, config: { quiet: true } }, handler)

  get('/healthz', async (_request, reply) => reply.send('{"status":"ok"}'))
  get('/readyz', async (request, reply) => {
    const { ready, problems } = await sources.readiness()
    const sharing = ready && sources.sharing && (await isKnown(request)) ? sources.sharing() : {}
    if (ready) return reply.send(JSON.stringify({ status: 'ready', ...sharing }))
    return reply
      .code(503)
      .header('retry-after', '1')
      .send(errorBody('Not ready', problems.join('; ') || 'The platform is still starting.'))
  })
  get('/metrics', async (request, reply) => {
    const text = await sources.metricsText(await isKnown(request))
    return reply.header('content-type', 'text/plain; version=0.0.4; charset=utf-8').send(text)
  })
  const page = frontPage(sources)
  get('/', async (request, reply) => {
    // The console is here; programs that ask for JSON get the addresses.
    const accept = request.headers.accept ?? ''
    const forPrograms = /\bjson\b/.test(accept) && !/\btext\/html\b/.test(accept)
    reply.header('vary', 'accept')
    return sources.hasConsole && !forPrograms ? reply.redirect('/console/') : reply.send(page)
  })
}

function frontPage({ hasMcp, hasReference, hasConsole }: StatusSources): string {
  return JSON.stringify(
    {
      name: 'Longshore',
      message: 'The hosting platform that AI agents operate. Programs use these addresses.',
      api: apiPrefix,
      openapi: `${apiPrefix}/openapi.json`,
      ...(hasReference ? { reference: referencePath } : {}),
      ...(hasConsole ? { console: '/console/' } : {}),
      ...(hasMcp ? { mcp: '/mcp' } : {}),
      health: '/healthz',
      readiness: '/readyz',
      metrics: '/metrics',
    },
    null,
    2,
  )
}
