import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import type { RequestedSecret, SecretEntry } from '../operations/access/secret-entry.ts'
import { escaped, page, sendPage } from './bare-page.ts'
import { errorResponse } from './error-response.ts'
import { type BodyLimits, readFormBody, refuseHostileText } from './json-body.ts'

/** The code in it is the permission, so it is never logged. */
const path = '/console/secret/:code'

/**
 * Adds the page on which a person enters a secret that an agent requested. No script, no cookie, no sign-in
 * (docs/decisions/secret-links.md). Opening it changes nothing, so that link previews do not use it up.
 */
export function addSecretPage(app: FastifyInstance, secrets: SecretEntry, limits: BodyLimits): void {
  app.get(path, { exposeHeadRoute: true }, async (request, reply) => {
    try {
      return sendPage(reply, 200, formPage(await secrets.find(codeOf(request), request.ip)))
    } catch (error) {
      return sendProblem(request, reply, error)
    }
  })
  app.post(path, async (request, reply) => {
    try {
      const form = await readFormBody(request.raw, limits)
      // A browser sends every line end of a form as CRLF; keys and certificates have LF.
      const value = (form.get('value') ?? '').replace(/\r\n/g, '\n')
      refuseHostileText(value)
      return sendPage(reply, 200, donePage(await secrets.enter(codeOf(request), value, request.ip)))
    } catch (error) {
      return sendProblem(request, reply, error)
    }
  })
}

function codeOf(request: FastifyRequest): string {
  return (request.params as { code: string }).code
}

function sendProblem(request: FastifyRequest, reply: FastifyReply, error: unknown): FastifyReply {
  const answer = errorResponse(error, request.id)
  request.failure = answer.bug ? error : null
  if (error instanceof AppError && (error.kind === 'invalid' || error.kind === 'too-large')) {
    const text = `${escaped(error.message)}. ${escaped(error.details ?? '')}`
    return sendPage(
      reply,
      answer.status,
      page('Not saved', `<p role="alert">${text} Go back to try again.</p>`),
    )
  }
  reply.headers(answer.headers)
  const isGone = error instanceof AppError && error.kind === 'unauthenticated'
  const text = isGone
    ? 'This link was used, has expired or was never valid. Ask the sender for a new one.'
    : 'The value was not saved: the sender of this link may no longer change the environment, or the platform is busy. Ask for a new link.'
  return sendPage(
    reply,
    isGone ? 404 : answer.status,
    page('Link not available', `<p role="alert">${text}</p>`),
  )
}

function formPage({ envName, variable, expiresAt }: RequestedSecret): string {
  return page(
    `Enter ${variable}`,
    `<p>An agent or a colleague asks for the value of the variable <code>${escaped(variable)}</code> of the environment
<code>${escaped(envName)}</code>. The value is stored encrypted, and the sender of this link does not see it. Enter it
only if you expected the request.</p>
<form method="post" autocomplete="off"><label for="value">Value</label>
<textarea id="value" name="value" rows="4" required autofocus spellcheck="false" autocomplete="off"></textarea>
<button>Save</button></form>
<p>The link works once, until ${escaped(expiresAt.slice(0, 16).replace('T', ' '))} UTC.</p>`,
  )
}

function donePage({ envName, variable }: RequestedSecret): string {
  return page(
    'Saved',
    `<p role="status">The value of <code>${escaped(variable)}</code> is saved for <code>${escaped(envName)}</code>. It takes
effect when the pending changes are applied. You can close this page.</p>`,
  )
}
