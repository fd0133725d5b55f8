import { updateAccount } from '../contract/accounts.ts'
import { listAlerts, toggleAlert } from '../contract/alerts.ts'
import { applyAppEnvChanges, scaleAppEnvContainers } from '../contract/app-env-actions.ts'
import { getAppEnvStatus, getLogs } from '../contract/app-env-reads.ts'
import { deployAppEnvImage, redeployAppEnv } from '../contract/deployments.ts'
import { diagnoseAppEnv, getAccountHealth } from '../contract/diagnosis.ts'
import type { Operation } from '../contract/operation.ts'
import { AppError } from '../errors.ts'
import { nearestName } from '../nearest.ts'
import type { Calls } from './calls.ts'
import { environmentOf } from './environment.ts'

interface WantedCall {
  operation: Operation
  input: Record<string, unknown>
  envName: string
}

/** The operation that a command asks for. `approve` and `deny` have a flow of their own. */
export type Wanted =
  | ({ kind: 'read' } & WantedCall)
  | ({ kind: 'write' } & WantedCall)
  | { kind: 'approvals' }
  | { kind: 'approval'; approvalId: string }
  | { kind: 'deny'; approvalId: string; reason: string }
  | { kind: 'help'; problem: string | null }

interface Command {
  usage: string
  does: string
  wanted(calls: Calls, words: readonly string[]): Promise<Wanted>
}

const defaultLines = 20
const mostLines = 100

const onEnvironment = async (
  calls: Calls,
  word: string | undefined,
  as: 'read' | 'write',
  operation: Operation,
  input: Record<string, unknown> = {},
): Promise<Wanted> => {
  if (word === undefined) throw usage('Name an environment')
  const { appEnvId, envName } = await environmentOf(calls, word)
  return { kind: as, operation, input: { appEnvId, ...input }, envName }
}

const commands: Record<string, Command> = {
  why: {
    usage: 'why [environment]',
    does: 'why it does not work, and what fixes it; without one, what is wrong in the account',
    wanted: async (calls, [word]) =>
      word === undefined
        ? { kind: 'read', operation: getAccountHealth, input: { accountId: calls.accountId }, envName: '' }
        : onEnvironment(calls, word, 'read', diagnoseAppEnv),
  },
  status: {
    usage: 'status <environment>',
    does: 'what serves, and how well',
    wanted: (calls, [word]) => onEnvironment(calls, word, 'read', getAppEnvStatus),
  },
  logs: {
    usage: 'logs <environment> [lines]',
    does: 'its newest log lines',
    wanted: (calls, [word, lines]) => {
      const size = lines === undefined ? defaultLines : Math.min(numberOf(lines, 'lines'), mostLines)
      return onEnvironment(calls, word, 'read', getLogs, { size })
    },
  },
  deploy: {
    usage: 'deploy <environment> [image]',
    does: 'applies its pending changes, or deploys an image',
    wanted: (calls, [word, image]) =>
      image === undefined
        ? onEnvironment(calls, word, 'write', applyAppEnvChanges)
        : onEnvironment(calls, word, 'write', deployAppEnvImage, { image }),
  },
  rollback: {
    usage: 'rollback <environment> [version]',
    does: 'deploys the last good version again, or an earlier one',
    wanted: (calls, [word, version]) =>
      onEnvironment(
        calls,
        word,
        'write',
        redeployAppEnv,
        version === undefined ? {} : { version: numberOf(version, 'version') },
      ),
  },
  scale: {
    usage: 'scale <environment> <containers>',
    does: 'sets the number of its containers',
    wanted: (calls, [word, containers]) =>
      onEnvironment(calls, word, 'write', scaleAppEnvContainers, {
        containers: numberOf(containers, 'containers'),
      }),
  },
  approve: {
    usage: 'approve [approval]',
    does: 'shows an approval with its buttons; without one, those that wait',
    wanted: async (_calls, [approvalId]) =>
      approvalId === undefined ? { kind: 'approvals' } : { kind: 'approval', approvalId },
  },
  deny: {
    usage: 'deny <approval> <reason>',
    does: 'denies an approval; the requester reads the reason',
    wanted: async (_calls, [approvalId, ...reason]) => {
      if (approvalId === undefined || reason.length === 0) throw usage('Name the approval and a reason')
      return { kind: 'deny', approvalId, reason: reason.join(' ') }
    },
  },
  alerts: {
    usage: 'alerts [environment]',
    does: 'its alerts, firing ones first; without one, those of the account',
    wanted: async (calls, [word]) =>
      word === undefined
        ? {
            kind: 'read',
            operation: listAlerts,
            input: { accountId: calls.accountId, limit: 20 },
            envName: '',
          }
        : onEnvironment(calls, word, 'read', listAlerts, { limit: 20 }),
  },
  pause: {
    usage: 'pause agents | <alert>',
    does: 'stops every write of agents, or the evaluation of an alert',
    wanted: async (calls, [what]) => pausing(calls, what, true),
  },
  resume: {
    usage: 'resume agents | <alert>',
    does: 'ends a pause',
    wanted: async (calls, [what]) => pausing(calls, what, false),
  },
}

function pausing({ accountId }: Calls, what: string | undefined, paused: boolean): Wanted {
  if (what === undefined) throw usage('Say agents, or the id of an alert')
  const pause =
    what === 'agents'
      ? { operation: updateAccount, input: { accountId, agentsPaused: paused } }
      : { operation: toggleAlert, input: { alertId: what, enabled: !paused } }
  return { kind: 'write', ...pause, envName: '' }
}

/** The operation behind the words, or help with the command that was probably meant. */
export async function wantedBy(calls: Calls, words: readonly string[]): Promise<Wanted> {
  const [name = 'help', ...rest] = words
  if (name === 'help') return { kind: 'help', problem: null }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command) return command.wanted(calls, rest)
  const nearest = nearestName(name, Object.keys(commands))
  const meant = nearest === null ? '' : ` Did you mean \`/longshore ${commands[nearest]!.usage}\`?`
  return { kind: 'help', problem: `There is no such command.${meant}` }
}

export function helpLines(): string[] {
  const lines = Object.values(commands).map(({ usage: words, does }) => `\`/longshore ${words}\`: ${does}`)
  return [...lines, 'With `--share` the channel sees the answer; else only you do.']
}

function numberOf(word: string | undefined, what: string): number {
  if (word !== undefined && /^\d{1,9}$/.test(word)) return Number(word)
  throw usage(`${what} must be a number`)
}

function usage(message: string): AppError {
  return new AppError('invalid', message, { details: '/longshore help shows the commands.' })
}
