import { counted } from '../../amounts.ts'
import { getAppEnvStatus } from '../../contract/app-env-reads.ts'
import { getAppEnvBackup } from '../../contract/backups.ts'
import { getJobRun } from '../../contract/jobs.ts'
import { getMemberEnvAccess } from '../../contract/members.ts'
import { sanitizeInline } from '../policy/untrusted-text.ts'
import type { Check, Loss, ToolContext, ToolInput } from './define-tool.ts'
import { readDryRun } from './dry-run.ts'
import { environmentRefOf } from './read-cache.ts'

/** Effect of deleting an environment, for the confirmation. */
export async function environmentEffects(ctx: ToolContext, input: ToolInput): Promise<Loss> {
  const env = await ctx.reads.environment(input, ctx.signal)
  return {
    name: env.cliEnvName,
    verb: 'delete',
    what: `environment ${sanitizeInline(env.cliEnvName)} (${env.status})`,
  }
}

/** Effect of a restore: the current data of the environment is lost. */
export async function dataEffects(ctx: ToolContext, input: ToolInput): Promise<Loss> {
  const env = await ctx.reads.environment(input, ctx.signal)
  const what = `the data of environment ${sanitizeInline(env.cliEnvName)} with a backup`
  return { name: env.cliEnvName, verb: 'replace', what }
}

/** Effect of a rotation: programs that hold the old password cannot connect any more. */
export async function passwordEffects(ctx: ToolContext, input: ToolInput): Promise<Loss> {
  const env = await ctx.reads.environment(input, ctx.signal)
  const what = `the password of environment ${sanitizeInline(env.cliEnvName)}; programs that hold the old one cannot connect`
  return { name: env.cliEnvName, verb: 'replace', what }
}

/** Effect of canceling a deployment; without one under way there is none. */
export async function deploymentEffect(ctx: ToolContext, input: ToolInput): Promise<Loss | null> {
  const ref = environmentRefOf(input)
  const { cliEnvName, currentDeployment: newest } = await ctx.client.call(getAppEnvStatus, ref, {
    signal: ctx.signal,
  })
  if (newest === null || newest.status === 'DEPLOYED' || newest.status === 'FAILED') return null
  const what = `the deployment of version ${newest.version} of ${sanitizeInline(cliEnvName)} (${newest.status})`
  return { name: cliEnvName, verb: 'cancel', what }
}

/** Stopping causes an outage until start-app-env. */
export async function serviceEffect(ctx: ToolContext, input: ToolInput): Promise<Loss | null> {
  const env = await ctx.reads.environment(input, ctx.signal)
  if (env.status === 'STOPPED') return null
  const what = `environment ${sanitizeInline(env.cliEnvName)} (${env.status})`
  return { name: env.cliEnvName, verb: 'stop', what }
}

/** E1: `envVars` replaces all variables; warns about the ones that the call removes. */
export const warnRemovedVariables: Check = async (ctx, input) => {
  const removed = await omittedVariables(ctx, input)
  if (removed.length === 0) return undefined
  return {
    text: `E1: envVars replaces all variables; this removes ${removed.length} (removedVariables). To change some and keep the others, use update-app-env-variables.`,
    fields: { removedVariables: removed },
  }
}

/** Variables that a caller omitted from `envVars`, possibly by mistake. */
export async function omittedVariableEffects(ctx: ToolContext, input: ToolInput): Promise<Loss | null> {
  const removed = await omittedVariables(ctx, input)
  return removed.length === 0 ? null : variableEffects(ctx, input, removed)
}

/** Variables that a caller removes by name. */
export async function unsetVariableEffects(ctx: ToolContext, input: ToolInput): Promise<Loss | null> {
  const { unset } = input
  if (!Array.isArray(unset) || unset.length === 0) return null
  return variableEffects(ctx, input, unset.map(String))
}

async function omittedVariables(ctx: ToolContext, input: ToolInput): Promise<string[]> {
  const { envVars } = input
  if (!Array.isArray(envVars)) return []
  const kept = new Set(envVars.map((variable: { name?: unknown } | null) => variable?.name))
  const env = await ctx.reads.environment(input, ctx.signal)
  return env.envVars.filter((variable) => !kept.has(variable.name)).map((variable) => variable.name)
}

async function variableEffects(ctx: ToolContext, input: ToolInput, removed: string[]): Promise<Loss> {
  const { cliEnvName } = await ctx.reads.environment(input, ctx.signal)
  return {
    name: cliEnvName,
    verb: 'remove',
    what: `${counted(removed.length, 'variable')} of ${sanitizeInline(cliEnvName)}`,
    fields: { variables: removed },
  }
}

/** Effect of canceling: the current attempt and the remaining ones are lost. */
export async function runEffect(ctx: ToolContext, input: ToolInput): Promise<Loss | null> {
  const { jobRun } = await ctx.client.call(getJobRun, { jobRunId: input.jobRunId }, { signal: ctx.signal })
  if (jobRun.finishedAt !== null) return null
  const { appEnvId, jobRunId, status, attempt, snapshot } = jobRun
  const env = await ctx.reads.environment({ appEnvId }, ctx.signal)
  const attempts = `${status}, attempt ${Math.max(1, attempt)} of ${snapshot.backoffLimit + 1}`
  return {
    name: jobRunId,
    verb: 'cancel',
    what: `run ${jobRunId} of environment ${sanitizeInline(env.cliEnvName)} (${attempts})`,
  }
}

/** Effect of an undo: the change of the entry is lost. `confirm` is the name of its object. */
export async function changeEffects(ctx: ToolContext, input: ToolInput): Promise<Loss> {
  const { entry } = (await readDryRun(ctx, input)) as unknown as {
    entry: {
      operation: string
      timestamp: string
      objectType: string
      objectId: string
      objectName: string
    }
  }
  const { operation, timestamp, objectType, objectId, objectName } = entry
  // A cliEnvName has a safe alphabet; the names of other objects are tenants' text.
  const isOurs = objectType === 'app-env' || objectName === objectId
  const name = isOurs ? objectName : objectId
  return {
    name,
    verb: 'undo',
    what: `${operation} of ${timestamp} on ${objectType} ${name}`,
    ...(isOurs ? {} : { fields: { name: objectName } }),
  }
}

/** Effect of deleting a backup. An environment can have several, so `confirm` is the backupId. */
export async function backupEffects(ctx: ToolContext, { backupId }: ToolInput): Promise<Loss> {
  const { backup } = await ctx.client.call(getAppEnvBackup, { backupId }, { signal: ctx.signal })
  const what = `backup ${backup.backupId} of environment ${backup.envName} (${backup.status})`
  return { name: backup.backupId, verb: 'delete', what }
}

/** M5: effect of turning per-environment access off: all members get full access. */
export async function memberAccessEffects(ctx: ToolContext, input: ToolInput): Promise<Loss | null> {
  const { accountId, memberEnvAccessEnabled } = input
  if (memberEnvAccessEnabled !== false) return null
  const account = await ctx.reads.account(String(accountId), ctx.signal)
  if (!account?.settings.memberEnvAccessEnabled) return null
  const what = `every member of account ${account.accountId} FULL access`
  return { name: account.accountId, verb: 'grant', what, fields: { name: account.name } }
}

/** Effect of removing the list of a restricted member: full access. */
export async function restrictionEffect(ctx: ToolContext, input: ToolInput): Promise<Loss | null> {
  const { accountId, membershipId, allowedAppEnvIds: wanted } = input
  if (Array.isArray(wanted) && wanted.length > 0) return null
  const now = await ctx.client.call(getMemberEnvAccess, { accountId, membershipId }, { signal: ctx.signal })
  if (now.allowedAppEnvIds.length === 0) return null
  const name = String(membershipId)
  return { name, verb: 'grant', what: `member ${sanitizeInline(name)} FULL access` }
}
