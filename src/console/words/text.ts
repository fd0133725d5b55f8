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
const groups = 'autoscaling|config|functionConfig|healthCheck|jobConfig'
/** A field in its group, or with a capital inside: no English word looks like that. */
const fieldName = new RegExp(
  `\\b(?:[a-zA-Z]+\\.)*(?:(?:${groups})\\.[a-z][A-Za-z]*|[a-z]+[A-Z][A-Za-z]*)\\b`,
  'g',
)

/** The number of a rule of the interface, as in "M2: …" and "… (F11)": people do not know the list. */
const ruleNumber = /^[A-Z]\d{1,2}: | \((?:[A-Z]\d{1,2}(?:, )?)+\)/g

/** The id of an object: the page shows its name. */
const objectId = / [a-z]{2,4}_[a-z0-9]{16,}\b/g

/** A field of an entry in a list, as in `set[0].name`. */
const placeInList = /\b\w+\[\d+\]\.(\w+)/g

function labelOfPlace(_found: string, field: string): string {
  const label = knownLabel(field)
  return label === null ? field : `“${label}”`
}

/** A message of the platform with the names of pages, buttons and inputs in place of operations and fields. */
export function inWords(message: string): string {
  return message
    .replaceAll(ruleNumber, '')
    .replaceAll(placeInList, labelOfPlace)
    .replaceAll(objectId, '')
    .replaceAll('get-logs with jobRunId', 'the page of the run')
    .replaceAll(operationId, (found, start: string | undefined, id: string) => {
      const place = Object.hasOwn(places, id) ? places[id]! : null
      if (place !== null)
        return start === undefined ? place : `${start}${place.charAt(0).toUpperCase()}${place.slice(1)}`
      const action = knownOperation(id)
      return action === null ? found : `${start ?? ''}“${action}”`
    })
    .replaceAll(fieldName, (found) => {
      const label = knownLabel(found)
      return label === null ? found : `“${label}”`
    })
}

/** The message about one input, which its label names already. */
export function aboutInput(message: string, name: string): string {
  const words = inWords(message.replace(new RegExp(`^(?:[\\w.[\\]]+\\.)?${name}: `), ''))
  const label = `“${knownLabel(name)}” `
  return words.startsWith(label) ? asSentence(words.slice(label.length)) : words
}

/** For use inside a sentence: "CPU of the limit" stays, "Requests" becomes "requests". */
export const lowerFirst = (text: string): string =>
  /^[A-Z][a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text

/** With a capital at its start. */
export const asSentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** `start-timeout`, `CRASH_LOOP`: "Start timeout", "Crash loop". */
export function sentenceCase(word: string): string {
  return asSentence(word.toLowerCase().replaceAll(/[-_]/g, ' '))
}
