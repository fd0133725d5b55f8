import { AppError } from '../errors.ts'
import type { Loss, ToolContext, ToolInput } from './define-tool.ts'
import { readDryRun } from './dry-run.ts'
import { visibleInline } from './untrusted-text.ts'

/**
 * Comes before anything is destroyed. Asks the person where the caller can; a caller that cannot must name the
 * object exactly in `confirm`. What would happen is counted by the platform, in a dry run of the same call.
 * Anything but a clear yes is a refusal.
 */
export async function confirmLoss(
  ctx: ToolContext,
  loss: Loss,
  sent: ToolInput,
  own: ToolInput,
): Promise<void> {
  const cannotAsk = ctx.askPerson === null
  if (cannotAsk && (loss.isReversible || own.confirm === loss.name)) return
  const { effects } = await readDryRun(ctx, sent)
  const counted = effects.map((effect) => visibleInline(effect, 400)).join(' ')
  const name = visibleInline(loss.name)
  const { verb } = loss
  const what = visibleInline(loss.what, 1_000)
  const nothing = verb === 'delete' ? 'Nothing was deleted.' : 'Nothing was done.'
  if (ctx.askPerson === null) {
    throw new AppError('invalid', 'Confirmation needed', {
      details: `This would ${verb} ${what}${isForGood(verb) ? ', for good' : ''}. ${counted} ${nothing} Ask the person; if they agree, call again with confirm set to the exact name: ${name}`,
    })
  }
  const forGood = isForGood(verb) || verb === 'cancel' ? ' This cannot be undone.' : ''
  const question = `${verb[0]!.toUpperCase()}${verb.slice(1)} ${what}? ${counted}${forGood}`
  if (await ctx.askPerson(question, `Yes, ${verb} ${name}`)) return
  throw new AppError('forbidden', 'The person did not agree', {
    details: `${nothing} Ask them what they want before trying ${name} again.`,
  })
}

function isForGood(verb: Loss['verb']): boolean {
  return verb === 'delete' || verb === 'replace'
}
