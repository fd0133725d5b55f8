import type { FastifyInstance, RouteHandlerMethod } from 'fastify'
import { apiPrefix } from '../contract/operation.ts'
import { errorBody } from './error-response.ts'
import { referencePath } from './reference-routes.ts'

export interface StatusSources {
  /** Whether the platform can take work, and if not, why, in words for the operator. */
  readiness: () => Promise<{ ready: boolean; problems: string[] }>
  /** Counters in the Prometheus text format. */
  metricsText: () => string
  hasMcp: boolean
  hasReference: boolean
}

/** Adds `/healthz` (the process lives), `/readyz` (it can work), `/metrics` and a front page. */
export function addStatusRoutes(app: FastifyInstance, sources: StatusSources): void {
  const get = (url: string, handler: RouteHandlerMethod) =>
    app.get(url, { exposeHeadRoute: true, config: { quiet: true } }, handler)

  get('/healthz', async (_request, reply) => reply.send('{"status":"ok"}'))
  get('/readyz', async (_request, reply) => {
    const { ready, problems } = await sources.readiness()
    if (ready) return reply.send('{"status":"ready"}')
    return reply
      .code(503)
      .header('retry-after', '1')
      .send(errorBody('Not ready', problems.join('; ') || 'The platform is still starting.'))
  })
  get('/metrics', async (_request, reply) => {
    const text = sources.metricsText()
    return reply.header('content-type', 'text/plain; version=0.0.4; charset=utf-8').send(text)
  })
  const page = frontPage(sources)
  get('/', async (_request, reply) => reply.send(page))
}

function frontPage({ hasMcp, hasReference }: StatusSources): string {
  return JSON.stringify(
    {
      name: 'Longshore',
      message: 'The hosting platform that AI agents operate. Programs talk to it here.',
      api: apiPrefix,
      openapi: `${apiPrefix}/openapi.json`,
      ...(hasReference ? { reference: referencePath } : {}),
      ...(hasMcp ? { mcp: '/mcp' } : {}),
      health: '/healthz',
      readiness: '/readyz',
      metrics: '/metrics',
    },
    null,
    2,
  )
}
