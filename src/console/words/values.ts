import { counted, exactTime, megabytes, whole } from '../components/words.ts'
import { aggregationNames, metricNames, spanWords } from '../pages/alerts/words.ts'
import { secondsWords } from '../pages/jobs/run-words.ts'
import { fieldLabel, fieldUnit, isHidden } from './fields.ts'

/** The name of an environment by its id, where the page knows it. */
export type NameOf = (id: string) => string | undefined

export const variableUses = { BOTH: 'Build and run', BUILD: 'Build only', DEPLOY: 'Run only' } as const

/** Words of the interface for a few values, by field and value. */
const values: Record<string, Record<string, string>> = {
  operator: { gt: 'above the threshold', lt: 'below the threshold' },
  aggregation: aggregationNames,
  dockerPreset: {
    FUNCTION: 'Function',
    JOB: 'Job',
    CUSTOM: 'Own Dockerfile',
    NEXT_JS: 'Next.js',
    EXPRESS: 'Express',
    NODE_JS: 'Node.js',
    STATIC: 'Static files',
    MONGODB: 'MongoDB',
    POSTGRESQL: 'PostgreSQL',
    MYSQL: 'MySQL',
    REDIS: 'Redis',
    COUCHDB: 'CouchDB',
    RABBITMQ: 'RabbitMQ',
    CLICKHOUSE: 'ClickHouse',
  },
  'source.type': { BUILD: 'Built from source', IMAGE: 'Image' },
}

/** A value as a person reads it, with its unit; null where there is none. `value` may be its text, as in the audit log. */
export function valueWords(path: string, value: unknown, nameOf: NameOf = () => undefined): string | null {
  const parsed = parsedValue(path, value)
  if (parsed === null || parsed === undefined || parsed === '') return isSetting(path) ? 'default' : null
  if (typeof parsed === 'boolean') return parsed ? 'yes' : 'no'
  if (Array.isArray(parsed)) return listWords(path, parsed, nameOf)
  if (typeof parsed === 'object') return objectWords(path, parsed as Record<string, unknown>, nameOf)
  if (typeof parsed === 'number') return numberWords(path, parsed)
  return textWords(path, String(parsed), nameOf)
}

/** Without a value of its own, such a setting has that of the app, the account or the platform. */
const isSetting = (path: string) => /(^|\.)(functionConfig|jobConfig|healthCheck)\./.test(path)

const isText =
  /(^|\.)(envVars\.[^.]+\.value|name|slug|cliEnvName|description|command|customDockerfileContent)$/

/** Text of tenants stays text: only fields of the interface that are no text are parsed. */
function parsedValue(path: string, value: unknown): unknown {
  if (typeof value !== 'string' || isText.test(path)) return value
  if (value === 'true' || value === 'false') return value === 'true'
  const isWhole = path === '' || /^[[{]/.test(value)
  if (!isWhole && !(/^-?\d+(\.\d+)?$/.test(value) && fieldUnit(path) !== undefined)) return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

function numberWords(path: string, value: number): string {
  switch (fieldUnit(path)) {
    case 'seconds':
      return secondsWords(value)
    case 'megabytes':
      return megabytes(value)
    case 'percent':
      return `${value} %`
    case 'zClouds':
      return `${counted(value, 'zCloud')} (${value * 0.5} CPU, ${megabytes(value * 512)})`
    default:
      return whole(value)
  }
}

function textWords(path: string, text: string, nameOf: NameOf): string {
  const last = path.slice(path.lastIndexOf('.') + 1)
  const known = path.startsWith('envVars.') && last === 'type' ? variableUses : (values[path] ?? values[last])
  if (known && Object.hasOwn(known, text)) return known[text as keyof typeof known]
  const unit = fieldUnit(path)
  if (unit === 'metric' && Object.hasOwn(metricNames, text))
    return metricNames[text as keyof typeof metricNames]
  if (unit === 'time' && !Number.isNaN(Date.parse(text))) return exactTime(text)
  if (unit === 'state') return text.toLowerCase()
  if ((last === 'duration' || last === 'queryRange') && /^\d+[mh]$/.test(text)) return spanWords(text)
  return nameOf(text) ?? text
}

function listWords(path: string, list: readonly unknown[], nameOf: NameOf): string | null {
  if (list.length === 0) return null
  const unit = fieldUnit(path)
  if (unit === 'contactPoints') return counted(list.length, 'contact point')
  if (unit === 'environments') {
    const names = list.map((id) => nameOf(String(id)))
    return names.every((name) => name !== undefined) ? names.join(', ') : counted(list.length, 'environment')
  }
  return list.map((one) => valueWords(path, one, nameOf) ?? '').join(', ')
}

function objectWords(path: string, object: Record<string, unknown>, nameOf: NameOf): string | null {
  // A variable: its id and flags matter less than its value.
  if ('name' in object && 'value' in object) return String(object.value)
  if (path.startsWith('envVars.') && 'field' in object)
    return `${String(object.field)} of ${nameOf(String(object.appEnvId)) ?? 'another environment'}`
  const shown = Object.entries(object).flatMap(([key, value]) => {
    const words = isHidden(key) ? null : valueWords(path === '' ? key : `${path}.${key}`, value, nameOf)
    return words === null ? [] : [`${fieldLabel(key)}: ${words}`]
  })
  return shown.length === 0 ? null : shown.join('; ')
}
