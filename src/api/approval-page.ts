import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Approval } from '../contract/approvals.ts'
import { AppError } from '../errors.ts'
import type { DecisionLinks, LinkedApproval } from '../operations/approvals/decision-links.ts'
import { escaped, page, sendPage } from './bare-page.ts'
import { errorResponse } from './error-response.ts'
import { type BodyLimits, readFormBody, refuseHostileText } from './json-body.ts'

/** The code in it is the permission, so it is never logged. */
const path = '/console/approval-link/:code'

/**
 * Adds the page of a mailed link: what the approval would do, and two buttons. No script, no cookie, no sign-in. Opening it
 * decides nothing, so that mail scanners do not.
 */
export function addApprovalPage(app: FastifyInstance, links: DecisionLinks, limits: BodyLimits): void {
  app.get(path, { exposeHeadRoute: true }, async (request, reply) => {
    try {
      return sendPage(reply, 200, shown(await links.find(codeOf(request), request.ip)))
    } catch (error) {
      return sendProblem(request, reply, error)
    }
  })
  app.post(path, async (request, reply) => {
    try {
      const form = await readFormBody(request.raw, limits)
      const comment = (form.get('comment') ?? '').replace(/\r\n/g, '\n').trim()
      refuseHostileText(comment)
      const decision = form.get('decision') as 'approve' | 'deny'
      const answer = await links.decide(
        codeOf(request),
        { decision, ...(comment === '' ? {} : { comment }) },
        request.ip,
      )
      return sendPage(reply, 200, done(answer))
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
  reply.headers(answer.headers)
  const isKnown =
    error instanceof AppError && ['invalid', 'conflict', 'forbidden', 'too-large'].includes(error.kind)
  const isGone = error instanceof AppError && ['unauthenticated', 'not-found'].includes(error.kind)
  const text = isKnown
    ? `${error.message}. ${error.details ?? ''}`
    : isGone
      ? 'This link has expired, was never valid, or you may no longer see what it is about.'
      : 'Nothing was decided. Try again in a moment.'
  return sendPage(
    reply,
    isGone ? 404 : answer.status,
    page('Not decided', `<p role="alert">${escaped(text)}</p>`),
  )
}

const ends: Record<Approval['status'], string> = {
  pending: 'It waits for another person.',
  approved: 'It was approved.',
  executed: 'It was approved and is done.',
  failed: 'It was approved, but one of its steps failed.',
  denied: 'It was denied; nothing was changed.',
  expired: 'No decision came in time; nothing was changed.',
  stale:
    'What it changes was changed meanwhile, so this link decides no longer. The console shows it as of now.',
  withdrawn: 'It was withdrawn; nothing was changed.',
}

function shown({ approval, isUsed, impacts }: LinkedApproval): string {
  const { title, status } = approval
  if (isUsed || status !== 'pending') {
    const used = isUsed ? 'You used this link. ' : ''
    return page(
      'Already decided',
      `<p role="status">${escaped(`${title}: ${used}${ends[status]}`)}</p>${toConsole(approval)}`,
    )
  }
  return page(
    'Approve or deny',
    `${request(approval)}${approval.steps.map((step, index) => stepOf(step, impacts[index]!)).join('')}
<form method="post"><label for="comment">Comment for the requester</label>
<textarea id="comment" name="comment" rows="3" maxlength="2000"></textarea>
<button name="decision" value="approve">Approve</button> <button name="decision" value="deny">Deny</button></form>
<p>An approval runs it at once. The link works once, until ${escaped(minuteOf(approval.expiresAt))}.</p>${toConsole(approval)}`,
  )
}

function request({ title, reason, requestedBy, approvers, decisions }: Approval): string {
  const { agent, name, kind } = requestedBy
  const who = [agent, name && (agent ? `for ${name}` : name), `(${kind})`].filter(Boolean).join(' ')
  const given = decisions.filter(({ decision }) => decision === 'approve').length
  return `<p><strong>${escaped(title)}</strong></p><p>Requested by ${escaped(who)}.${
    reason === null ? '' : ` Reason: ${escaped(reason)}`
  }</p><p>Approved by ${given} of ${approvers.count}.</p>`
}

function stepOf({ operation, effects, changes }: Approval['steps'][number], impact: string[]): string {
  const list = [...impact, ...effects].map((text) => `<li>${escaped(text)}</li>`).join('')
  const rows = changes
    .map(
      ({ path: field, before, after }) =>
        `<tr><th scope="row">${escaped(field)}</th><td>${shownValue(before)}</td><td>${shownValue(after)}</td></tr>`,
    )
    .join('')
  const table =
    rows === ''
      ? ''
      : `<table><thead><tr><th>Field</th><th>Before</th><th>After</th></tr></thead><tbody>${rows}</tbody></table>`
  return `<h2><code>${escaped(operation)}</code></h2><ul>${list}</ul>${table}`
}

function shownValue(value: unknown): string {
  if (value === null || value === undefined) return 'none'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return escaped(text.length > 600 ? `${text.slice(0, 600)}…` : text)
}

function done({ message, approval }: { message: string; approval: Approval }): string {
  return page('Decided', `<p role="status">${escaped(message)}</p>${toConsole(approval)}`)
}

function toConsole({ url }: Approval): string {
  return `<p><a href="${escaped(url)}">Open it in the console</a></p>`
}

const minuteOf = (iso: string) => `${iso.slice(0, 16).replace('T', ' ')} UTC`
