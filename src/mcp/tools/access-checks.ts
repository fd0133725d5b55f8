import { getApp } from '../../contract/apps.ts'
import { AppError } from '../../errors.ts'
import { sanitizeInline } from '../policy/untrusted-text.ts'
import type { Check, Loss, ToolContext, ToolInput } from './define-tool.ts'
import { readDryRun } from './dry-run.ts'

/** An agent that omits the list by mistake must not grant full access, so full access requires grantFullAccess. */
export const fullAccessMeant: Check = async (ctx, input, own) => {
  const wanted = input.allowedAppEnvIds
  const full = !Array.isArray(wanted) || wanted.length === 0
  if (!full || own.grantFullAccess === true) return undefined
  const { effects } = await readDryRun(ctx, input)
  const counts = effects.map((effect) => sanitizeInline(effect, 400)).join(' ')
  throw new AppError('invalid', 'An empty or missing list grants FULL access', {
    details: `The call would have this effect: ${counts} Nothing was changed. List environments in allowedAppEnvIds, or send grantFullAccess true if the person wants full access.`,
    rule: 'M5',
  })
}

/** Effect of deleting an app, for the confirmation. */
export async function appEffects(ctx: ToolContext, input: ToolInput): Promise<Loss> {
  const app = await ctx.client.call(getApp, { appId: input.appId }, { signal: ctx.signal })
  return {
    name: app.appId,
    verb: 'delete',
    what: `the ${app.dockerPreset} app ${app.appId} with its settings`,
    fields: { name: app.name },
  }
}
