import type { AppEnv } from '../../../contract/app-envs.ts'
import type { JobConfigName } from '../../../contract/job-config.ts'
import type { SnapshotLayers } from '../../../contract/jobs.ts'
import { fieldLabel } from '../../words/fields.ts'
import { secondsWords } from './run-words.ts'

export const layerNames: Record<SnapshotLayers['command'], string> = {
  platform: 'Platform default',
  app: 'App',
  environment: 'Environment',
  run: 'This run',
  image: 'Image',
}

export interface JobField {
  name: JobConfigName
  kind: 'text' | 'lines' | 'seconds' | 'count' | 'switch'
  hint: string
  min?: number
}

export const jobLabel = (name: JobConfigName) => fieldLabel(`jobConfig.${name}`)

export const jobFields: readonly JobField[] = [
  { name: 'command', kind: 'text', hint: 'What each run carries out' },
  { name: 'args', kind: 'lines', hint: 'One on a line' },
  { name: 'shell', kind: 'switch', hint: 'Runs the command by /bin/sh -lc' },
  { name: 'workingDir', kind: 'text', hint: 'Inside the container' },
  { name: 'timeoutSeconds', kind: 'seconds', hint: 'Seconds a run may take', min: 1 },
  { name: 'backoffLimit', kind: 'count', hint: 'Attempts after a failed one', min: 0 },
  {
    name: 'ttlSecondsAfterFinished',
    kind: 'seconds',
    hint: 'Seconds after the end; record and output stay',
    min: 300,
  },
  { name: 'maxConcurrency', kind: 'count', hint: 'At most', min: 1 },
  {
    name: 'allowConcurrentRuns',
    kind: 'switch',
    hint: 'Without a number of runs at once, there is no limit',
  },
]

/** The environment's own values as text; an empty text inherits. */
export type JobDraft = Record<JobConfigName, string>

export function draftOf({ jobConfig = {} }: AppEnv): JobDraft {
  const entries = jobFields.map(({ name }) => [name, textOf(jobConfig[name])])
  return Object.fromEntries(entries) as JobDraft
}

const textOf = (value: unknown): string =>
  value === undefined ? '' : Array.isArray(value) ? value.join('\n') : String(value)

/** The edited fields as update-job-config takes them. */
export function changeOf(draft: JobDraft, edited: readonly JobConfigName[]) {
  const given = edited.filter((name) => draft[name] !== '')
  const values = given.map((name) => [name, valueFrom(name, draft[name])])
  return {
    ...(Object.fromEntries(values) as Record<string, never>),
    clear: edited.filter((name) => draft[name] === ''),
  }
}

function valueFrom(name: JobConfigName, text: string): unknown {
  switch (jobFields.find((field) => field.name === name)?.kind) {
    case 'lines':
      return text.split('\n').filter((one) => one !== '')
    case 'switch':
      return text === 'true'
    case 'seconds':
    case 'count':
      return Number(text)
    default:
      return text
  }
}

/** A value as a person reads it, with its unit. */
export function valueWords(kind: JobField['kind'], value: unknown): string {
  if (value === null || value === undefined || value === '') return 'not set'
  if (Array.isArray(value)) return value.length === 0 ? 'not set' : value.join(' ')
  if (kind === 'switch') return value === true ? 'on' : 'off'
  return kind === 'seconds' ? secondsWords(Number(value)) : String(value)
}
