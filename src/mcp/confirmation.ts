import { AppError } from '../errors.ts'
import type { Loss, ToolContext, ToolInput } from './define-tool.ts'
import { visibleInline } from './untrusted-text.ts'

/**
 * Comes before anything is destroyed. Asks the person where the caller can; a caller that cannot must name the
 * object exactly in `confirm`. Anything but a clear yes is a refusal.
 */
export async function confirmLoss(ctx: ToolContext, loss: Loss, input: ToolInput): Promise<void> {
  const name = visibleInline(loss.name)
  if (ctx.askPerson !== null) {
    const agreed = await ctx.askPerson(`Delete ${loss.what}? This cannot be undone.`, `Yes, delete ${name}`)
    if (agreed) return
    throw new AppError('forbidden', 'The person did not agree', {
      details: `Nothing was deleted. Ask them what they want before trying ${name} again.`,
    })
  }
  if (input.confirm === loss.name) return
  throw new AppError('invalid', 'Confirmation needed', {
    details: `This would delete ${loss.what}, for good. Nothing was deleted. Ask the person; if they agree, call again with confirm set to the exact name: ${name}`,
  })
}
