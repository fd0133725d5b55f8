import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type BodyLimits, readBytes } from './json-body.ts'

/** Adds the address at which other control planes of the installation call this one. Bodies are sealed text. */
export function addPeerRoute(
  app: FastifyInstance,
  path: string,
  serve: (sealed: string) => Promise<string>,
  limits: BodyLimits,
): void {
  app.post(path, async (request: FastifyRequest, reply: FastifyReply) => {
    const sealed = await readBytes(request.raw, limits)
    return reply.type('text/plain').send(await serve(sealed.toString('utf8')))
  })
}
