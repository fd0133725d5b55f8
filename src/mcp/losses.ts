import { getJobRun } from '../contract/jobs.ts'
import { getMemberEnvAccess } from '../contract/members.ts'
import type { Check, Loss, ToolContext, ToolInput } from './define-tool.ts'
import { readDryRun } from './dry-run.ts'
import { visibleInline } from './untrusted-text.ts'

/** What deleting an environment destroys, for the question and for `confirm`. */
export async function lossOfEnvironment(ctx: ToolContext, input: ToolInput): Promise<Loss> {
  const env = await ctx.reads.environment(input, ctx.signal)
  return {
    name: env.name,
    verb: 'delete',
    what: `environment ${visibleInline(env.cliEnvName)} (${env.status})`,
  }
}

/** What a restore destroys: the data that the environment has now. */
export async function lossOfData(ctx: ToolContext, input: ToolInput): Promise<Loss> {
  const env = await ctx.reads.environment(input, ctx.signal)
  const what = `the data of environment ${visibleInline(env.cliEnvName)} by those of a backup`
  return { name: env.name, verb: 'replace', what }
}

/** Stopping is an outage, though start-app-env ends it. */
export async function lossOfService(ctx: ToolContext, input: ToolInput): Promise<Loss | null> {
  const env = await ctx.reads.environment(input, ctx.signal)
  if (env.status === 'STOPPED') return null
  const what = `environment ${visibleInline(env.cliEnvName)} (${env.status})`
  return { name: env.name, verb: 'stop', what, isReversible: true }
}

/** E1: `envVars` replaces all variables; says which ones the call takes away. */
export const saysRemovedVariables: Check = async (ctx, input) => {
  const removed = await omittedVariables(ctx, input)
  if (removed.length === 0) return undefined
  return `E1: envVars replaces all variables; this removes ${removed.length}: ${visibleInline(removed.join(', '), 500)}. To change some and keep the others, use update-app-env-variables.`
}

/** Variables that a caller left out of `envVars`, perhaps without meaning to. */
export async function lossOfOmittedVariables(ctx: ToolContext, input: ToolInput): Promise<Loss | null> {
  const removed = await omittedVariables(ctx, input)
  return removed.length === 0 ? null : lossOfVariables(ctx, input, removed)
}

/** Variables that a caller named to be removed. */
export async function lossOfUnsetVariables(ctx: ToolContext, input: ToolInput): Promise<Loss | null> {
  const { unset } = input
  if (!Array.isArray(unset) || unset.length === 0) return null
  return lossOfVariables(ctx, input, unset.map(String))
}

async function omittedVariables(ctx: ToolContext, input: ToolInput): Promise<string[]> {
  const { envVars } = input
  if (!Array.isArray(envVars)) return []
  const kept = new Set(envVars.map((variable: { name?: unknown } | null) => variable?.name))
  const env = await ctx.reads.environment(input, ctx.signal)
  return env.envVars.filter((variable) => !kept.has(variable.name)).map((variable) => variable.name)
}

async function lossOfVariables(ctx: ToolContext, input: ToolInput, removed: string[]): Promise<Loss> {
  const { name, cliEnvName } = await ctx.reads.environment(input, ctx.signal)
  const names = visibleInline(removed.join(', '), 500)
  return {
    name,
    verb: 'remove',
    what: `${removed.length} variable(s) of ${visibleInline(cliEnvName)}: ${names}`,
    // undo-change brings them back, secret ones too.
    isReversible: true,
  }
}

/** What canceling takes away: the work of the attempt under way, and the attempts left. */
export async function lossOfRun(ctx: ToolContext, input: ToolInput): Promise<Loss | null> {
  const { jobRun } = await ctx.client.call(getJobRun, { jobRunId: input.jobRunId }, { signal: ctx.signal })
  if (jobRun.finishedAt !== null) return null
  const { appEnvId, jobRunId, status, attempt, snapshot } = jobRun
  const env = await ctx.reads.environment({ appEnvId }, ctx.signal)
  const attempts = `${status}, attempt ${Math.max(1, attempt)} of ${snapshot.backoffLimit + 1}`
  return {
    name: env.name,
    verb: 'cancel',
    what: `run ${jobRunId} of environment ${visibleInline(env.cliEnvName)} (${attempts})`,
    // The call names the very run, and start-job-run runs it again.
    isReversible: true,
  }
}

/** What an undo takes away is what the entry made; its operation is the name to type back. */
export async function lossOfChange(ctx: ToolContext, input: ToolInput): Promise<Loss> {
  const { entry } = (await readDryRun(ctx, input)) as unknown as {
    entry: { operation: string; timestamp: string; objectType: string; objectId: string }
  }
  const { operation, timestamp, objectType, objectId } = entry
  return { name: operation, verb: 'undo', what: `${operation} of ${timestamp} on ${objectType} ${objectId}` }
}

/** Full access for somebody who has less now. */
export async function lossOfRestriction(ctx: ToolContext, input: ToolInput): Promise<Loss | null> {
  const { accountId, membershipId, allowedAppEnvIds: wanted } = input
  if (Array.isArray(wanted) && wanted.length > 0) return null
  const now = await ctx.client.call(getMemberEnvAccess, { accountId, membershipId }, { signal: ctx.signal })
  if (now.allowedAppEnvIds.length === 0) return null
  const name = String(membershipId)
  return { name, verb: 'grant', what: `member ${visibleInline(name)} FULL access`, isReversible: true }
}
