import type { Fix } from '../../contract/diagnosis.ts'
import { type HeldChange, usersToInclude } from '../../contract/held-changes.ts'
import { defaultTools } from '../policy/default-tools.ts'
import { refusalOf, type ToolPolicy } from '../policy/tool-policy.ts'
import { factsOf, type Tool, type ToolInput } from './define-tool.ts'

/** A call that follows from a result, complete: its input can be sent as it is. */
interface NextAction {
  tool: string
  input: ToolInput
  why: string
}

type Answer = Record<string, unknown>
interface Call {
  tool: Tool
  sent: ToolInput
}
type Rule = (answer: Answer, call: Call) => NextAction[]

/** Findings whose fixes are named. */
const mostFixes = 3

/** Whether a client of this server sees the tool in its list: advice names no other. */
export function isListed(tool: Tool, toolPolicy: ToolPolicy): boolean {
  const shown = toolPolicy.groups !== null || defaultTools.has(tool.name)
  return shown && refusalOf(factsOf(tool), toolPolicy) === null
}

/** The field `nextActions` of a result; absent if nothing follows. Only listed tools, and never text of a tenant in `why`. */
export function nextFields(
  answer: Answer,
  call: Call,
  listed: (name: string) => boolean,
): { nextActions?: NextAction[] } {
  const nextActions = rules.flatMap((rule) => rule(answer, call)).filter(({ tool }) => listed(tool))
  return nextActions.length === 0 ? {} : { nextActions }
}

const heldChanges: Rule = (answer, { sent }) => {
  const held = answer.heldChanges as HeldChange[] | undefined
  if (held === undefined || held.length === 0) return []
  const input = { ...environmentOf(answer, sent), includeChangesOf: usersToInclude(held) }
  return [{ tool: 'apply-app-env-changes', input, why: 'Puts the changes of other users in force too.' }]
}

const pendingApproval: Rule = ({ approvalId, status }) => {
  if (typeof approvalId !== 'string' || status !== 'pending') return []
  const input = { approvalId, waitSeconds: 50 }
  return [{ tool: 'get-approval', input, why: 'Waits for the decision of a person.' }]
}

/** Saved by this call, and not in force yet. */
const savedChanges: Rule = (answer, { tool, sent }) => {
  if (tool.hints.readOnly || answer.heldChanges !== undefined || answer.dryRun === true) return []
  const { hasDeployChanges = answer.appliedImmediately === false } = (answer.pendingChanges ?? {}) as {
    hasDeployChanges?: boolean
  }
  if (!hasDeployChanges) return []
  return [
    {
      tool: 'apply-app-env-changes',
      input: environmentOf(answer, sent),
      why: 'The change is saved, but not in force until it is applied.',
    },
  ]
}

const unfinished: Rule = ({ deployment, appEnv }, { sent }) => {
  const { finished, outcome } = (deployment ?? {}) as { finished?: boolean; outcome?: string }
  const input = environmentOf({ appEnv }, sent)
  if (finished === false) return [{ tool: 'get-app-env-status', input, why: 'Shows when it has ended.' }]
  if (outcome === 'failed') return [{ tool: 'diagnose-app-env', input, why: 'Finds the cause and its fix.' }]
  return []
}

const unfinishedRun: Rule = ({ jobRun }, { tool }) => {
  const { jobRunId, finishedAt } = (jobRun ?? {}) as { jobRunId?: string; finishedAt?: string | null }
  if (jobRunId === undefined || finishedAt !== null || tool.waits !== 'job-run') return []
  return [{ tool: 'get-job-run', input: { jobRunId }, why: 'Shows when the run has ended.' }]
}

const fixes: Rule = ({ findings }) => {
  const found = (Array.isArray(findings) ? findings : []) as { cause: string; fix: Fix | null }[]
  return found.slice(0, mostFixes).flatMap(({ cause, fix }) => {
    // Variables to set have no value yet, and a log line may have named them.
    if (fix === null || fix.input.set !== undefined) return []
    const judged = fix.safe ? '' : ' A person should agree first.'
    return [{ tool: fix.operation, input: fix.input, why: `Fixes ${cause}.${judged}` }]
  })
}

const worst: Rule = (answer) => {
  const [first] = (Array.isArray(answer.worst) ? answer.worst : []) as { envName: string }[]
  if (first === undefined) return []
  return [
    { tool: 'diagnose-app-env', input: { envName: first.envName }, why: 'Finds the cause and its fix.' },
  ]
}

const upload: Rule = ({ storageKey, uploadUrl }, { sent }) => {
  if (typeof storageKey !== 'string' || typeof uploadUrl !== 'string') return []
  const input = { ...environmentOf({}, sent), storageKey }
  return [{ tool: 'notify-code-upload', input, why: 'Builds and deploys, after the PUT to uploadUrl.' }]
}

const restart: Rule = (answer, { tool, sent }) =>
  tool.name === 'stop-app-env' && answer.dryRun !== true
    ? [{ tool: 'start-app-env', input: environmentOf(answer, sent), why: 'Starts it again.' }]
    : []

const rules: readonly Rule[] = [
  heldChanges,
  pendingApproval,
  savedChanges,
  unfinished,
  unfinishedRun,
  fixes,
  worst,
  upload,
  restart,
]

function environmentOf(answer: Answer, { appEnvId, envName }: ToolInput): ToolInput {
  const { appEnv } = answer as { appEnv?: { appEnvId?: string } }
  if (envName !== undefined && appEnvId === undefined) return { envName }
  return { appEnvId: appEnv?.appEnvId ?? appEnvId }
}
