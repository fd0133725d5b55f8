import { type Impact, impactActions } from '../../contract/impact.ts'
import type { Rule } from '../../contract/policy.ts'

type Condition = NonNullable<Rule['when']>[number]

interface PathFacts {
  of: (impact: Impact) => unknown
  /** Values of another type can never match. */
  type: 'number' | 'boolean' | 'text' | 'list'
  /** The only values; absent: any text. */
  values?: readonly string[]
  /** Also null. */
  nullable?: true
}

/** The paths of an impact that rules can name. */
const impactPaths: Readonly<Record<string, PathFacts>> = {
  actions: { of: ({ actions }) => actions, type: 'list', values: impactActions },
  environments: { of: ({ environments }) => environments, type: 'list' },
  serving: { of: ({ serving }) => serving, type: 'boolean' },
  containersEnded: { of: ({ containersEnded }) => containersEnded, type: 'number' },
  containersStarted: { of: ({ containersStarted }) => containersStarted, type: 'number' },
  downtimeSeconds: { of: ({ downtimeSeconds }) => downtimeSeconds, type: 'number', nullable: true },
  dataLost: { of: ({ dataLost }) => dataLost, type: 'boolean' },
  undo: { of: ({ undo }) => undo, type: 'text', values: ['undo-change', 'redeploy', 'restore', 'none'] },
  zCloudsDelta: { of: ({ zCloudsDelta }) => zCloudsDelta, type: 'number' },
  'variables.changed': { of: ({ variables }) => variables.changed, type: 'list' },
  'variables.appliedOf': {
    of: ({ variables }) => variables.appliedOf.flatMap(({ name, by }) => (by === null ? [name] : [name, by])),
    type: 'list',
  },
  peopleNotified: { of: ({ peopleNotified }) => peopleNotified, type: 'number' },
}

/** Why the condition can never hold; null: it can. */
export function conditionProblem({ impact: path, is, value }: Condition): string | null {
  const facts = Object.hasOwn(impactPaths, path) ? impactPaths[path]! : null
  if (facts === null) return `impact has no ${path}; it has ${Object.keys(impactPaths).join(', ')}`
  const { type, values, nullable } = facts
  if (type === 'list') {
    if (is !== 'contains' || typeof value !== 'string') return `${path} is a list: use contains with a text`
  } else if (is === 'contains') return `${path} is no list: contains is for lists`
  if (type !== 'number' && type !== 'list' && is !== 'eq' && is !== 'ne')
    return `${path} is no number: use eq or ne`
  const wanted = { number: 'number', boolean: 'boolean', text: 'string', list: 'string' }[type]
  if (value === null ? !nullable || (is !== 'eq' && is !== 'ne') : typeof value !== wanted)
    return `${path} is compared with a ${type === 'list' || type === 'text' ? 'text' : type}`
  if (values && !values.includes(value as string)) return `${path} is one of ${values.join(', ')}`
  return null
}

/** Null, a downtime of unknown length, is longer than any number. */
export function holds({ impact: path, is, value }: Condition, impact: Impact): boolean {
  const found = impactPaths[path]?.of(impact)
  if (is === 'contains') return Array.isArray(found) && found.includes(value)
  if (is === 'eq') return found === value
  if (is === 'ne') return found !== value
  const [one, other] = [found === null ? Number.POSITIVE_INFINITY : Number(found), Number(value)]
  if (is === 'gt') return one > other
  if (is === 'gte') return one >= other
  return is === 'lt' ? one < other : one <= other
}
