import type { Remediation, RemediationRun } from '../../../contract/remediations.ts'
import type { Tone } from '../../components/Badge.tsx'
import { sentenceCase } from '../../words/text.ts'

export const statusTones: Record<RemediationRun['status'], Tone> = {
  observed: 'idle',
  waiting: 'busy',
  running: 'busy',
  verifying: 'busy',
  verified: 'ok',
  undone: 'warn',
  failed: 'bad',
  limited: 'warn',
  skipped: 'idle',
}

export const modeWords: Record<Remediation['mode'], string> = {
  off: 'Off',
  observe: 'Only observes',
  ask: 'Asks first',
  auto: 'Acts by itself',
}

export const modeTones: Record<Remediation['mode'], Tone> = {
  off: 'idle',
  observe: 'idle',
  ask: 'warn',
  auto: 'ok',
}

const actionWords: Record<RemediationRun['steps'][number]['action'], string> = {
  restart: 'Restart',
  rollback: 'Rollback',
  scale: 'Scale',
  'function-limits': 'Function limits',
  'apply-fix': 'Safe fix of the diagnosis',
  'run-job': 'Job run',
  notify: 'Notification',
  'call-agent': 'Call of an agent',
}

export const actionName = (action: keyof typeof actionWords) => actionWords[action]

const outcomeWords: Record<RemediationRun['steps'][number]['outcome'], string> = {
  done: 'done',
  failed: 'failed',
  undone: 'put back',
  'not-undone': 'not put back',
}

export const outcomeName = (outcome: keyof typeof outcomeWords) => outcomeWords[outcome]

export const statusName = (status: RemediationRun['status']) => sentenceCase(status)

export const stepsWords = ({ steps }: Pick<Remediation, 'steps'>) =>
  steps.map(({ action }) => actionWords[action]).join(', then ')
