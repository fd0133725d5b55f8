import { counted } from '../../amounts.ts'
import type { Deployment } from '../../contract/app-env-reads.ts'
import { healthSentence, isIll } from '../../contract/health-words.ts'
import { type HeldChange, usersToInclude } from '../../contract/held-changes.ts'
import { statusSentence } from '../../contract/status-sentence.ts'
import { AppError } from '../../errors.ts'
import { sanitizeInline } from '../policy/untrusted-text.ts'
import { logLink } from '../resources/log-links.ts'
import { localRequest } from '../transport/local-request.ts'
import type { Note, Tool, ToolContext, ToolInput } from './define-tool.ts'
import { nextFields } from './next-actions.ts'
import { errorResult, successResult, type ToolResult } from './result.ts'
import {
  type DeploymentEnd,
  deploymentFacts,
  failureError,
  failureLog,
  waitForDeployment,
  waitSecondsOf,
} from './wait-for-deployment.ts'

type Answer = Record<string, unknown>

/** The result of a call that started a deployment, after its end or `waitSeconds`. */
export async function waitedResult(
  tool: Tool,
  ctx: ToolContext,
  answer: Answer,
  { before, sent, own, notes }: { before: Deployment | null; sent: ToolInput; own: ToolInput; notes: Note[] },
): Promise<ToolResult> {
  const contentId = typeof answer.contentId === 'string' ? answer.contentId : null
  let end: DeploymentEnd
  try {
    end = await waitForDeployment(ctx, {
      appEnvId: (answer.appEnv as { appEnvId: string }).appEnvId,
      contentId,
      before,
      waitSeconds: waitSecondsOf(own, ctx.takesProgress),
    })
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    // The write succeeded, and the caller must know that even if the reads after it failed.
    const details = `The call was accepted${contentId === null ? '' : ` as contentId ${contentId}`}. Do not send it again; read get-app-env-status. Reading the status failed: ${error.message}. ${error.details ?? ''}`
    return errorResult(new AppError(error.kind, 'The outcome of the deployment is unknown', { details }), {
      accepted: answer,
    })
  }
  return deploymentResult({ tool, sent, ctx, notes }, answer, end)
}

export async function deploymentResult(
  { ctx, notes, ...call }: { tool: Tool; sent: ToolInput; ctx: ToolContext; notes: Note[] },
  answer: Answer,
  end: DeploymentEnd,
): Promise<ToolResult> {
  const deployment = deploymentFacts(end)
  const next = nextFields({ ...answer, deployment }, call, ctx.isListed)
  if (end.kind === 'failed' || end.kind === 'superseded') {
    const log = end.kind === 'failed' ? await failureLog(ctx, end) : ''
    // The sentence and the log already contain reason and message, so the text adds only the ids.
    const { contentId, version, servingVersion, environmentStatus } = deployment
    const shown = { contentId, version, servingVersion, environmentStatus, ...next }
    const result = errorResult(failureError(end), { deployment, ...next }, log, shown)
    if (log === '') return result
    const links = ['BUILD', 'RUNTIME'].map((type) => logLink(end.status.cliEnvName, type))
    return { ...result, structured: { ...result.structured, untrustedLog: log }, links }
  }
  const point = pointOf(answer, end)
  // The response shows the state at the start of the call; the caller waited for the current one.
  const appEnv = { ...(answer.appEnv as Answer), status: end.status.status }
  return successResult({ point, answer: { ...answer, message: point, appEnv, deployment, ...next }, notes })
}

function pointOf(answer: Answer, end: DeploymentEnd): string {
  const held = heldWords(answer)
  // The message of the answer says the same.
  return held === '' ? endWords(answer, end) : `${held} ${endWords({ ...answer, message: '' }, end)}`
}

/** Comes first: a model that reads on from "is RUNNING" takes the change for done. */
function heldWords({ heldChanges }: Answer): string {
  const held = (heldChanges ?? []) as HeldChange[]
  if (held.length === 0) return ''
  const users = [...new Set(held.map(({ by }) => sanitizeInline(by ?? 'an unknown user')))].join(', ')
  return `NOT in force: ${counted(held.length, 'pending change')} saved by ${users}. An agent applies the changes of other users only if apply-app-env-changes names them: includeChangesOf ${JSON.stringify(usersToInclude(held).map((one) => sanitizeInline(one)))}.`
}

function endWords(answer: Answer, end: DeploymentEnd): string {
  const { status, deployment } = end
  const name = sanitizeInline(status.cliEnvName)
  if (end.kind === 'still-running') {
    const what = deployment === null ? 'the environment' : `version ${deployment.version}`
    const handle = deployment === null ? '' : ` (contentId ${deployment.contentId})`
    return `Not finished: ${what} of ${name} is still ${deployment?.status ?? status.status} after ${end.seconds} s. Poll get-app-env-status${handle} until it is DEPLOYED or FAILED.`
  }
  const done =
    end.kind === 'unchanged' && answer.message !== ''
      ? `${sanitizeInline(String(answer.message), 500).replace(/\.?$/, '.')} `
      : ''
  if (status.status === 'STOPPED') return `${done}${sanitizeInline(statusSentence(status), 500)}`
  const url = status.hosts[0]?.url
  const version = status.currentVersion === null ? '' : ` at version ${status.currentVersion}`
  const at = url === undefined ? '' : `, at ${sanitizeInline(url)}`
  const { health } = status
  const ill = health && isIll(health) ? ` ${health.verdict}: ${healthSentence(health)}` : ''
  return `${done}${name} is ${status.status}${version}${at}.${ill}${pendingWords(status)}${localRequest(url)}`
}

/** What runs is not what was saved. */
function pendingWords({ pendingChanges }: DeploymentEnd['status']): string {
  const fields = pendingChanges.deployPendingChanges.map(({ field }) => field)
  return fields.length === 0 ? '' : ` Saved, but not in force: ${fields.join(', ')}.`
}
