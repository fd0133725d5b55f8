import { callerKinds } from '../../../contract/caller-kinds.ts'
import { budgetMeters, weekdays } from '../../../contract/policy.ts'
import { policyEffects } from '../../../contract/policy-decision.ts'
import {
  dayNames,
  effectWords,
  kindNames,
  meterNames,
  subjectNames,
  windowNames,
} from '../../words/policy.ts'

export type Part = 'rules' | 'freezes' | 'budgets'
export type PolicyEntry = { id: string } & Record<string, unknown>

/** One input of a rule, freeze or budget. */
export interface FieldSpec {
  /** Where its value is in the entry, such as `who.kinds`. */
  path: string
  kind: 'line' | 'number' | 'list' | 'choice' | 'checks' | 'flag' | 'labels' | 'conditions'
  choices?: readonly (readonly [value: string, words: string])[]
  hint?: string
}

const pairs = <K extends string>(keys: readonly K[], words: (key: K) => string) =>
  keys.map((key) => [key, words(key)] as const)
const any = ['', 'Any'] as const
const wildcards = 'With * and ?, separated by commas. Empty: all'

const who: FieldSpec[] = [
  { path: 'who.kinds', kind: 'checks', choices: pairs(callerKinds, (kind) => kindNames[kind]) },
  { path: 'who.agents', kind: 'list', hint: wildcards },
]
const on: FieldSpec[] = [
  { path: 'on.operations', kind: 'list', hint: wildcards },
  { path: 'on.environments', kind: 'list', hint: wildcards },
  { path: 'on.apps', kind: 'list', hint: wildcards },
  { path: 'on.labels', kind: 'labels', hint: 'Such as stage=prod, separated by commas' },
  {
    path: 'on.protected',
    kind: 'choice',
    choices: [any, ['true', 'Only protected'], ['false', 'Only unprotected']],
  },
]
const id: FieldSpec = { path: 'id', kind: 'line', hint: 'Letters, digits, - and _' }
const message: FieldSpec = { path: 'message', kind: 'line', hint: 'Shown with every decision of it' }

export const fieldsOf: Record<Part, readonly FieldSpec[]> = {
  rules: [
    id,
    { path: 'effect', kind: 'choice', choices: pairs(policyEffects, (effect) => effectWords[effect].name) },
    ...who,
    ...on,
    {
      path: 'when',
      kind: 'conditions',
      hint: 'One in each line, all must hold: dataLost eq true, containersEnded gt 2, actions contains deploy',
    },
    { path: 'after.operation', kind: 'line', hint: 'Such as create-app-env-backup' },
    { path: 'after.withinSeconds', kind: 'number' },
    { path: 'approvers.count', kind: 'number' },
    {
      path: 'approvers.needs',
      kind: 'choice',
      choices: [any, ['admin', 'Admin'], ['manageMembers', 'May manage members']],
    },
    { path: 'approvers.notRequester', kind: 'flag' },
    { path: 'expiresSeconds', kind: 'number', hint: 'Empty: a day' },
    { path: 'reasonRequired', kind: 'flag' },
    message,
  ],
  freezes: [
    id,
    { path: 'from', kind: 'line', hint: 'Such as 2030-12-24T18:00' },
    { path: 'to', kind: 'line', hint: 'Such as 2030-12-27T08:00' },
    { path: 'weekly.days', kind: 'checks', choices: pairs(weekdays, (day) => dayNames[day]) },
    { path: 'weekly.from', kind: 'line', hint: 'Such as 18:00' },
    { path: 'weekly.to', kind: 'line', hint: 'Such as 23:59' },
    { path: 'timeZone', kind: 'line', hint: 'Such as Europe/Berlin' },
    ...who,
    ...on,
    message,
  ],
  budgets: [
    id,
    { path: 'of', kind: 'choice', choices: Object.entries(subjectNames) },
    { path: 'meter', kind: 'choice', choices: pairs(budgetMeters, (meter) => meterNames[meter]) },
    { path: 'window', kind: 'choice', choices: Object.entries(windowNames) },
    { path: 'soft', kind: 'number', hint: 'Empty: never' },
    { path: 'hard', kind: 'number' },
    {
      path: 'onHard',
      kind: 'choice',
      choices: pairs(['ask', 'deny'] as const, (effect) => effectWords[effect].name),
    },
  ],
}

export const emptyEntry: Record<Part, PolicyEntry> = {
  rules: { id: '', effect: 'ask', who: { kinds: ['agent'] } },
  freezes: { id: '', timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone },
  budgets: { id: '', of: 'agent', meter: 'writes', window: '1h', hard: 100, onHard: 'deny' },
}

/** The typed texts of an entry, by the path of their input. */
export function textsOf(specs: readonly FieldSpec[], entry: PolicyEntry): Record<string, string> {
  return Object.fromEntries(specs.map((spec) => [spec.path, textOf(spec, valueAt(entry, spec.path))]))
}

/** The entry with the typed values; fields without an input stay. */
export function entryOf(
  specs: readonly FieldSpec[],
  texts: Record<string, string>,
  before: PolicyEntry,
): PolicyEntry {
  const entry = structuredClone(before)
  for (const spec of specs) put(entry, spec.path.split('.'), typedValue(spec, texts[spec.path] ?? ''))
  return entry
}

function valueAt(entry: PolicyEntry, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], entry)
}

function put(into: Record<string, unknown>, [key = '', ...rest]: string[], value: unknown): void {
  if (rest.length > 0) {
    const inner = { ...(into[key] as object | undefined) }
    put(inner, rest, value)
    if (Object.keys(inner).length > 0) into[key] = inner
    else delete into[key]
  } else if (value === undefined) delete into[key]
  else into[key] = value
}

function textOf({ kind }: FieldSpec, value: unknown): string {
  if (value === undefined) return ''
  if (kind === 'list' || kind === 'checks') return (value as string[]).join(', ')
  if (kind === 'labels')
    return Object.entries(value as object)
      .map((pair) => pair.join('='))
      .join(', ')
  if (kind === 'conditions')
    return (value as { impact: string; is: string; value: unknown }[])
      .map((one) => `${one.impact} ${one.is} ${String(one.value)}`)
      .join('\n')
  return String(value)
}

const parts = (text: string, by: RegExp) =>
  text
    .split(by)
    .map((part) => part.trim())
    .filter((part) => part !== '')

function typedValue({ kind }: FieldSpec, text: string): unknown {
  if (text.trim() === '') return undefined
  switch (kind) {
    case 'number':
      return Number(text)
    case 'list':
    case 'checks':
      return parts(text, /,/)
    case 'labels':
      return Object.fromEntries(
        parts(text, /,/).map((label) => [label.split('=')[0], label.split('=').slice(1).join('=')]),
      )
    case 'conditions':
      return parts(text, /\n/).map((line) => {
        const [impact = '', is = '', ...value] = line.split(/\s+/)
        return { impact, is, value: scalar(value.join(' ')) }
      })
    case 'flag':
      return text === 'true' ? true : undefined
    case 'choice':
      return text === 'true' || text === 'false' ? text === 'true' : text
    case 'line':
      return text.trim()
  }
}

/** `true`, `2` and `null` as such, anything else as text. */
function scalar(text: string): unknown {
  if (/^(true|false|null|-?\d+(\.\d+)?)$/.test(text)) return JSON.parse(text)
  return text
}
