import type { Approval, ApprovalStatus } from '../../contract/approvals.ts'
import type { Impact } from '../../contract/impact.ts'
import type { Tone } from '../components/Badge.tsx'
import { counted } from '../components/words.ts'
import { secondsWords } from '../pages/jobs/run-words.ts'

export const approvalStatusWords: Record<ApprovalStatus, { tone: Tone; name: string }> = {
  pending: { tone: 'busy', name: 'Waiting' },
  approved: { tone: 'busy', name: 'Approved' },
  executed: { tone: 'ok', name: 'Done' },
  failed: { tone: 'bad', name: 'Failed' },
  denied: { tone: 'idle', name: 'Denied' },
  expired: { tone: 'idle', name: 'Expired' },
  stale: { tone: 'warn', name: 'Out of date' },
  withdrawn: { tone: 'idle', name: 'Withdrawn' },
}

export const callerKindNames: Record<Approval['requestedBy']['kind'], string> = {
  person: 'Person',
  agent: 'Agent',
  environment: 'Token of an environment',
  remediation: 'Remediation',
}

/** What follows after a status that no decision can change. */
export const endWords: Partial<Record<ApprovalStatus, string>> = {
  denied: 'Nothing was changed.',
  expired: 'No decision came in time, so nothing was changed.',
  withdrawn: 'It was taken back, so nothing was changed.',
}

/** "2 people, not the requester, who are admins". */
export function approversWords({ count, notRequester, needs }: Approval['approvers']): string {
  const people = counted(count, 'person', 'people')
  const who = { admin: ' with admin permission', manageMembers: ' who may manage members' }
  return `${people}${needs ? who[needs] : ''}${notRequester ? ', not the requester' : ''}`
}

const actionNames: Record<Impact['actions'][number], string> = {
  'create-object': 'Creates something',
  'delete-object': 'Deletes something',
  'change-settings': 'Changes settings',
  'change-access': 'Changes access',
  'change-credential': 'Changes a credential',
  deploy: 'Deploys',
  rollback: 'Rolls back',
  restart: 'Restarts',
  stop: 'Stops',
  start: 'Starts',
  'scale-up': 'Scales up',
  'scale-down': 'Scales down',
  'run-job': 'Runs a job',
  'replace-data': 'Replaces data',
  'delete-data': 'Deletes data',
  'reveal-secret': 'Shows a secret',
  'send-message': 'Sends a message',
  none: 'Changes nothing',
}

const undoNames: Record<Impact['undo'], { tone: Tone; title: string }> = {
  'undo-change': { tone: 'ok', title: 'Can be undone' },
  redeploy: { tone: 'ok', title: 'The version before can be deployed again' },
  restore: { tone: 'warn', title: 'Only a backup brings it back' },
  none: { tone: 'warn', title: 'Cannot be undone' },
}

/** One thing that a write does to the world, for a picture of it. */
export interface ImpactFact {
  key: 'actions' | 'ended' | 'started' | 'downtime' | 'data' | 'cost' | 'undo' | 'variables' | 'people'
  tone: Tone
  title: string
  note?: string | undefined
  /** Containers to draw. */
  boxes?: number
}

/** What ends, what is lost, how long it is down and what it costs; the rest only where there is some. */
export function impactFacts(impact: Impact, nameOf: (id: string) => string | undefined): ImpactFact[] {
  const { containersEnded, containersStarted, serving, environments } = impact
  const names = environments.map(nameOf).filter((name) => name !== undefined)
  const facts: (ImpactFact | false)[] = [
    {
      key: 'actions',
      tone: 'idle',
      title: impact.actions.map((one) => actionNames[one]).join(', '),
      note: names.length > 0 ? `in ${names.join(', ')}` : undefined,
    },
    {
      key: 'ended',
      tone: containersEnded === 0 ? 'ok' : serving ? 'bad' : 'warn',
      title: containersEnded === 0 ? 'No container ends' : `Ends ${counted(containersEnded, 'container')}`,
      note: containersEnded > 0 && serving ? 'of an environment that serves requests' : undefined,
      boxes: containersEnded,
    },
    containersStarted > 0 && {
      key: 'started',
      tone: 'ok',
      title: `Starts ${counted(containersStarted, 'container')}`,
      boxes: containersStarted,
    },
    { key: 'downtime', ...downtimeWords(impact.downtimeSeconds) },
    impact.dataLost
      ? { key: 'data', tone: 'bad', title: 'Stored data is lost', note: 'No backup of the last hour has it' }
      : { key: 'data', tone: 'ok', title: 'No data is lost' },
    { key: 'cost', ...costWords(impact.zCloudsDelta) },
    { key: 'undo', ...undoNames[impact.undo] },
    { key: 'variables', ...variableWords(impact, nameOf) },
    impact.peopleNotified > 0 && {
      key: 'people',
      tone: 'idle',
      title: `Notifies ${counted(impact.peopleNotified, 'person', 'people')}`,
    },
  ]
  return facts.filter((fact) => fact !== false && fact.title !== '') as ImpactFact[]
}

function downtimeWords(seconds: number | null): { tone: Tone; title: string } {
  if (seconds === null) return { tone: 'warn', title: 'Downtime of unknown length' }
  if (seconds === 0) return { tone: 'ok', title: 'No downtime' }
  return { tone: 'bad', title: `Down for about ${secondsWords(seconds)}` }
}

function costWords(zClouds: number): { tone: Tone; title: string } {
  if (zClouds === 0) return { tone: 'ok', title: 'Costs the same' }
  const size = counted(Math.abs(zClouds), 'zCloud')
  return zClouds > 0
    ? { tone: 'warn', title: `Reserves ${size} more` }
    : { tone: 'ok', title: `Reserves ${size} less` }
}

function variableWords(
  { variables: { changed, appliedOf } }: Impact,
  nameOf: (id: string) => string | undefined,
): { tone: Tone; title: string; note?: string } {
  const applied = appliedOf.map(({ name, by }) =>
    by === null ? name : `${name} (${nameOf(by) ?? 'somebody'})`,
  )
  const title = changed.length === 0 ? '' : `Changes ${changed.join(', ')}`
  if (applied.length === 0) return { tone: 'idle', title }
  return {
    tone: 'warn',
    title: title || 'Puts pending changes in force',
    note: `Takes effect: ${applied.join(', ')}`,
  }
}

const undoOrder: Impact['undo'][] = ['undo-change', 'redeploy', 'restore', 'none']

/** The steps of a plan as one: what all of them do, and the worst of what cannot be added. */
export function totalImpact(impacts: readonly Impact[]): Impact {
  const [first, ...rest] = impacts
  return rest.reduce(
    (sum, one) => ({
      actions: [...new Set([...sum.actions, ...one.actions])],
      environments: [...new Set([...sum.environments, ...one.environments])],
      serving: sum.serving || one.serving,
      containersEnded: sum.containersEnded + one.containersEnded,
      containersStarted: sum.containersStarted + one.containersStarted,
      downtimeSeconds:
        sum.downtimeSeconds === null || one.downtimeSeconds === null
          ? null
          : sum.downtimeSeconds + one.downtimeSeconds,
      dataLost: sum.dataLost || one.dataLost,
      undo: undoOrder[Math.max(undoOrder.indexOf(sum.undo), undoOrder.indexOf(one.undo))]!,
      zCloudsDelta: sum.zCloudsDelta + one.zCloudsDelta,
      variables: {
        changed: [...new Set([...sum.variables.changed, ...one.variables.changed])],
        appliedOf: [...sum.variables.appliedOf, ...one.variables.appliedOf],
      },
      peopleNotified: sum.peopleNotified + one.peopleNotified,
    }),
    first!,
  )
}
