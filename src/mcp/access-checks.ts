import { getApp } from '../contract/apps.ts'
import { AppError } from '../errors.ts'
import type { Check, Loss, ToolContext, ToolInput } from './define-tool.ts'
import { readDryRun } from './dry-run.ts'
import { visibleInline } from './untrusted-text.ts'

/** An agent that drops a list by mistake must not open every environment: full access is asked for by name. */
export const fullAccessMeant: Check = async (ctx, input, own) => {
  const wanted = input.allowedAppEnvIds
  const full = !Array.isArray(wanted) || wanted.length === 0
  if (!full || own.grantFullAccess === true) return undefined
  const { effects } = await readDryRun(ctx, input)
  const counts = effects.map((effect) => visibleInline(effect, 400)).join(' ')
  throw new AppError('invalid', 'An empty or missing list grants FULL access', {
    details: `It would do this: ${counts} Nothing was changed. Name the environments in allowedAppEnvIds, or, if the person wants full access, send grantFullAccess true.`,
    rule: 'M5',
  })
}

/** What deleting an app takes with it, for the question and for `confirm`. */
export async function lossOfApp(ctx: ToolContext, input: ToolInput): Promise<Loss> {
  const app = await ctx.client.call(getApp, { appId: input.appId }, { signal: ctx.signal })
  return {
    name: app.name,
    verb: 'delete',
    what: `the ${app.dockerPreset} app ${visibleInline(app.name)} with its settings`,
  }
}
