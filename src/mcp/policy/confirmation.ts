import type { ConfirmedBy } from '../../contract/audit.ts'
import { AppError } from '../../errors.ts'
import type { Loss, ToolContext, ToolInput } from '../tools/define-tool.ts'
import { readDryRun, recordDecline } from '../tools/dry-run.ts'
import { sanitize, sanitizeDeep, sanitizeInline } from './untrusted-text.ts'

/** A refusal that waits for `confirm`; `fields` is text that tenants chose, shown beside its sentences. */
export class ConfirmationNeeded extends AppError {
  readonly fields: Record<string, unknown>

  constructor(details: string, fields: Record<string, unknown>) {
    super('invalid', 'Confirmation needed', { details })
    this.fields = fields
  }
}

/**
 * Runs before an object is destroyed; resolves to what confirmed it. The host asks the person if it can; else the model must
 * name the object exactly in `confirm`. The platform reports the effects, in a dry run of the same call. Any answer but a
 * clear yes is a refusal. A host may answer by itself, so its answer never counts as that of a person.
 */
export async function confirmLoss(
  ctx: ToolContext,
  loss: Loss,
  sent: ToolInput,
  own: ToolInput,
): Promise<ConfirmedBy> {
  const { askPerson } = ctx
  if (askPerson === null && isConfirmed(loss, own)) return 'model'
  const { effects } = await readDryRun(ctx, sent, { declined: askPerson === null })
  const counted = effects.map((effect) => sanitizeInline(effect, 400)).join(' ')
  const name = sanitizeInline(loss.name)
  const { verb, fields = {} } = loss
  const what = sanitizeInline(loss.what, 1_000)
  const nothing = verb === 'delete' ? 'Nothing was deleted.' : 'Nothing was done.'
  if (askPerson === null) {
    const typed = fields.name === undefined ? `: ${name}` : ', which is the field name of this answer'
    throw new ConfirmationNeeded(
      `This would ${verb} ${what}${isForGood(verb) ? ', for good' : ''}. ${counted} ${nothing} Ask the person; if they agree, call again with confirm set to the exact name${typed}`,
      fields,
    )
  }
  const forGood = isForGood(verb) || verb === 'cancel' ? ' This cannot be undone.' : ''
  const shown = loss.fields === undefined ? '' : `\n${JSON.stringify(sanitizeDeep(loss.fields))}`
  const question = `${verb[0]!.toUpperCase()}${verb.slice(1)} ${what}? ${counted}${forGood}${shown}`
  if (await askPerson(question, `Yes, ${verb} ${name}`)) return 'host'
  await recordDecline(ctx, sent, 'host')
  throw new AppError('forbidden', 'The host declined', {
    details: `It did not answer the question with a clear yes; the person may not have seen it. ${nothing} Ask them what they want before trying ${name} again.`,
  })
}

/** The name as it is, or as an answer shows it, is typed back; `grantFullAccess` says it in its own name. */
function isConfirmed({ name, fields }: Loss, { confirm, grantFullAccess }: ToolInput): boolean {
  if (grantFullAccess === true) return true
  const wanted = fields?.name ?? name
  return confirm === wanted || confirm === sanitize(wanted)
}

function isForGood(verb: Loss['verb']): boolean {
  return verb === 'delete' || verb === 'replace'
}
