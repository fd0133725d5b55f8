import { knownLabel } from './fields.ts'
import { knownOperation } from './operations.ts'

/** Pages that show the same as a read that a message names. */
const places: Record<string, string> = {
  'get-logs': 'the Logs tab',
  'what-changed': 'the Activity tab',
  'list-audit': 'the page Activity',
  'list-members': 'the page Members',
  'list-alerts': 'the page Alerts',
  'list-contact-points': 'the page Contact points',
  'list-app-envs': 'the page Environments',
  'list-job-runs': 'the Runs tab',
  'get-job-run': 'the page of the run',
  'get-app-env-history': 'the Deployments tab',
  'list-app-env-backups': 'the Backups tab',
  'get-app-env-status': 'the Summary tab',
  'diagnose-app-env': 'the Summary tab',
}

const operationId = /(^|[.!?] )?\b([a-z]+(?:-[a-z]+)+)\b/g
/** A field with a capital inside, alone or in its group: no word of English looks like that. */
const fieldName = /\b(?:[a-zA-Z]+\.)*([a-z]+[A-Z][A-Za-z]*)\b/g

/** A message of the platform with the names of pages, buttons and inputs in place of operations and fields. */
export function inWords(message: string): string {
  return message
    .replaceAll('get-logs with jobRunId', 'the page of the run')
    .replaceAll(operationId, (found, start: string | undefined, id: string) => {
      const place = Object.hasOwn(places, id) ? places[id]! : null
      if (place !== null)
        return start === undefined ? place : `${start}${place.charAt(0).toUpperCase()}${place.slice(1)}`
      const action = knownOperation(id)
      return action === null ? found : `${start ?? ''}“${action}”`
    })
    .replaceAll(fieldName, (found, name: string) => {
      const label = knownLabel(name)
      return label === null ? found : `“${label}”`
    })
}

/** The message about one input, which its label names already. */
export function aboutInput(message: string, name: string): string {
  return inWords(message.replace(new RegExp(`^(?:[\\w.]+\\.)?${name}: `), ''))
}

/** `start-timeout`, `CRASH_LOOP`: "Start timeout", "Crash loop". */
export function sentenceCase(word: string): string {
  const words = word.toLowerCase().replaceAll(/[-_]/g, ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
