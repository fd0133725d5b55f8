import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import type { UploadReceiver } from '../operations/core/call.ts'

/** The path of upload addresses; the secret in it is the permission, so it is never logged. */
const uploadPath = '/uploads/:secret'

const received = JSON.stringify({
  message: 'Upload received. Call notify-code-upload with its storageKey now.',
})

/**
 * Adds `PUT /uploads/<secret>`: no token, any content type, streamed to the receiver without buffering. Closes the
 * connection if no data arrives for `idleMs`.
 */
export function addUploadRoute(app: FastifyInstance, uploads: UploadReceiver, idleMs: number): void {
  app.route({
    method: 'PUT',
    url: uploadPath,
    // A hook, not a handler: it runs before the framework checks the content type and the body.
    onRequest: async (request: FastifyRequest, reply: FastifyReply) => {
      const { secret } = request.params as { secret: string }
      const declared = request.headers['content-length']
      await uploads.receive(
        secret,
        bodyChunks(request.raw, idleMs),
        declared === undefined ? null : Number(declared),
      )
      return reply.code(200).send(received)
    },
    handler: () => {},
  })
}

/**
 * The body, chunk by chunk. If the receiver stops early, the connection stays open for its error response. A client that
 * disconnects causes an `AppError`, not a bug report.
 */
async function* bodyChunks(request: IncomingMessage, idleMs: number): AsyncGenerator<Buffer> {
  const { socket } = request
  const cutOff = () => request.destroy(new Error(`no byte for ${idleMs} ms`))
  socket.setTimeout(idleMs).once('timeout', cutOff)
  try {
    yield* request.iterator({ destroyOnReturn: false })
  } catch (cause) {
    throw new AppError('invalid', 'The upload was interrupted', {
      details: 'Request a new storage key and upload again.',
      cause,
    })
  } finally {
    socket.setTimeout(0).off('timeout', cutOff)
  }
}
