import type { FastifyInstance } from 'fastify'
import type { Receiver } from '../chat/receiver.ts'
import { chatHookPath } from '../operations/chat/responses.ts'
import { type BodyLimits, readBytes } from './json-body.ts'

const limits: BodyLimits = { bytes: 256 * 1024, timeoutMs: 5_000 }

/** Adds the address to which chats send commands and clicks. The signature over the exact bytes is the permission. */
export function addChatRoute(app: FastifyInstance, receiver: Pick<Receiver, 'hook'>): void {
  app.post<{ Params: { connectionId: string } }>(`${chatHookPath}:connectionId`, async (request, reply) => {
    const { headers, ip: address, params } = request
    const body = await readBytes(request.raw, limits)
    return reply.send(await receiver.hook(params.connectionId, { headers, body, address }))
  })
}
