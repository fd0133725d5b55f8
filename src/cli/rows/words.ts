import type { Deployment } from '../../contract/app-env-reads.ts'
import { failureWords } from '../../contract/failure-words.ts'
import { operations } from '../../contract/index.ts'
import { printable } from '../progress.ts'

/** Nouns of the shell whose name differs from the plural of the object's name in operation ids. */
const nouns: Readonly<Record<string, string>> = {
  'app-env': 'envs',
  'app-env-backup': 'backup',
  'app-env-domain': 'domains',
  'job-run': 'jobs',
  'user-token': 'token',
  user: 'user',
  audit: 'audit',
  policy: 'policy',
}

/** Operations whose command cannot be derived from their id. */
const exceptions: Readonly<Record<string, string>> = {
  'rotate-contact-point-secret': 'contact-points rotate-secret',
  'propose-plan': 'approvals propose',
  'list-chat-connections': 'chat connections',
  'create-chat-connection': 'chat connect',
  'update-chat-connection': 'chat update',
  'delete-chat-connection': 'chat disconnect',
  'list-chat-users': 'chat users',
  'connect-chat-user': 'chat accept',
  'remove-chat-user': 'chat remove-user',
  'list-database-presets': 'databases presets',
  'get-logs': 'envs logs',
  'request-deploy-storage-key': 'envs request-storage-key',
  'notify-code-upload': 'envs notify-upload',
  'deploy-app-env-image': 'envs deploy-image',
  'apply-app-env-changes': 'envs apply',
  'scale-app-env-containers': 'envs scale',
  'update-app-env-variables': 'envs variables',
  'request-secret': 'envs request-secret',
  'update-app-env-autoscaling': 'envs autoscaling',
  'update-function-config': 'envs function-config',
  'rotate-app-env-token': 'envs rotate-token',
  'explain-access': 'envs explain-access',
  'cancel-deployment': 'envs cancel-deployment',
  'diagnose-app-env': 'why',
  'get-account-health': 'accounts health',
  'get-account-usage': 'accounts usage',
  'diagnosis-causes': 'causes list',
  'what-changed': 'envs changes',
  'get-incident': 'incident',
  'list-alert-notifications': 'alerts notifications',
  'list-alert-state-changes': 'alerts state-changes',
  'list-remediation-runs': 'remediations runs',
  'get-remediation-run': 'remediations run',
  'probe-function': 'probe',
  'start-job-run': 'jobs run',
  'update-job-config': 'jobs configure',
  'restore-app-env-backup': 'restore',
  'get-member-env-access': 'members access',
  'update-member-env-access': 'members set-access',
  'rotate-user-token': 'token rotate',
  'list-users': 'user list',
  'remove-user': 'user remove',
  'list-user-sessions': 'user sessions',
  'list-user-passkeys': 'user passkeys',
  'create-user-passkey': 'user add-passkey',
  'remove-user-passkey': 'user remove-passkey',
  'end-user-sessions': 'user sign-out',
  'undo-change': 'audit undo',
  'upload-app-env-certificate': 'domains upload-certificate',
}

/**
 * The words of an operation in the shell: `list-apps` is `apps list`, `get-app-env-status` is `envs status`. The
 * command of a new operation follows from its id.
 */
export function wordsOf(operationId: string): readonly string[] {
  const exception = exceptions[operationId]
  if (exception !== undefined) return exception.split(' ')
  const [verb = '', ...rest] = operationId.split('-')
  const object = rest.join('-').replace(/s$/, '')
  const noun = nouns[object]
  if (noun !== undefined) return [noun, verb]
  // For a part of an object, the part is the last word.
  if (object.startsWith('app-env-')) {
    const part = rest.slice(2).join('-')
    return ['envs', verb === 'get' ? part : `${verb}-${part}`]
  }
  return [`${object}s`, verb]
}

const operationIds: ReadonlySet<string> = new Set(operations.map(({ id }) => id))

/** Shorter commands for an operation in a sentence about one environment. */
const shorter: Readonly<Record<string, (envName: string) => string>> = {
  'diagnose-app-env': (envName) => `why ${envName}`,
  'start-app-env': (envName) => `envs start ${envName}`,
  'get-logs': (envName) => `logs ${envName}`,
  'request-deploy-storage-key': (envName) => `deploy ${envName} --dir <folder>`,
  'deploy-app-env-image': (envName) => `deploy ${envName} --image <reference>`,
}

/** The two calls of a deploy from source, which are one command in the shell. */
const sourceDeploy = 'request-deploy-storage-key, then notify-code-upload'

/** Why a deployment failed. The message of a build step quotes a program, so it is not changed. */
export function failureText(failure: NonNullable<Deployment['failure']>, envName: string): string {
  const { reason, message } = failureWords(failure)
  const text = printable(`${reason}: ${message}`)
  return reason === 'build step' ? text : inShellWords(text, envName)
}

/** A text of the platform with the operations that it names as commands; `envName` is the environment it is about. */
export function inShellWords(text: string, envName?: string): string {
  const one = text
    .replaceAll(sourceDeploy, `longshore deploy ${envName ?? '<environment>'} --dir <folder>`)
    .replaceAll('get-logs with jobRunId', 'longshore jobs logs <jobRunId>')
  return one.replace(/([a-z]+(?:-[a-z]+)+)(?: with type ([A-Z]+))?/g, (all, word: string, type?: string) => {
    if (!operationIds.has(word)) return all
    const about = envName === undefined ? undefined : shorter[word]?.(envName)
    const command = about ?? (word === 'get-logs' ? 'logs' : wordsOf(word).join(' '))
    return `longshore ${command}${type === undefined ? '' : ` --type ${type}`}`
  })
}
