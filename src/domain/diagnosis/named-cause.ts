import type { LogLine } from '../../contract/app-env-reads.ts'
import type { DiagnosisCause, Evidence, Fix } from '../../contract/diagnosis.ts'
import { quote } from './evidence.ts'
import { type DatabaseFacts, type Facts, fixBy } from './facts.ts'
import { type LogSign, runtimeSign } from './log-signs.ts'

/** A cause that output of the program names, checked against the other facts. */
export interface NamedCause {
  cause: DiagnosisCause
  evidence: Evidence[]
  database: DatabaseFacts | null
  /** The fixes of a version that could not start and of one that serves; null if only new code or a person can fix it. */
  startFix: Fix | null
  runningFix: Fix | null
}

/** The sign of a cause in output of the program. */
export function signIn(
  { variables, volumePath, mountPath }: Facts,
  lines: readonly LogLine[],
): LogSign | null {
  return runtimeSign(lines, variables.applied, volumePath, mountPath)
}

export function namedCause(facts: Facts, sign: LogSign): NamedCause {
  const evidence = [quote(sign.line)]
  if (sign.cause === 'dependency-refused') return dependency(facts, evidence)
  if (sign.variable !== undefined) return missingVariable(facts, sign.variable, evidence)
  if (sign.cause === 'volume-path')
    evidence.push({ source: 'setting', at: null, text: `mountPath: ${facts.volumePath}` })
  return { cause: sign.cause, evidence, database: null, startFix: null, runningFix: null }
}

/** A refused connection is the fault of a database only if one of the account is named and does not run. */
function dependency(facts: Facts, evidence: Evidence[]): NamedCause {
  const down = facts.databases.find(({ ready }) => !ready)
  if (!down) {
    return { cause: 'dependency-refused', evidence, database: null, startFix: null, runningFix: null }
  }
  const { appEnvId, status, namedBy } = down
  const effect = `Starts the database ${appEnvId}.`
  // An address that only a log line names may be one that the program never uses.
  const isSafe = namedBy.source === 'setting'
  const fix = status === 'STOPPED' ? fixBy('start-app-env', { appEnvId }, effect, isSafe) : null
  return {
    cause: 'database-down',
    evidence: [...evidence, { source: namedBy.source, at: namedBy.at, text: namedBy.text }],
    database: down,
    startFix: fix && { ...fix, safe: false },
    runningFix: fix,
  }
}

/** Anyone whose text the program prints can name a variable, so the fix of a missing variable is never safe. */
function missingVariable(facts: Facts, name: string, evidence: Evidence[]): NamedCause {
  const { appEnvId, latest, variables } = facts
  const text = variables.saved.includes(name)
    ? `saved, but not in force: ${name}`
    : 'the environment has no such variable'
  const found = { cause: 'missing-variable' as const, database: null }
  const withSetting: Evidence[] = [...evidence, { source: 'setting', at: null, text }]
  if (!variables.saved.includes(name)) {
    const set = [{ name, value: '<value>' }]
    const effect = 'Saves the variable as a pending change; fill in its value first.'
    const fix = fixBy('update-app-env-variables', { appEnvId, set }, effect, false)
    return { ...found, evidence: withSetting, startFix: fix, runningFix: fix }
  }
  const effect = 'Replaces the containers by ones that have the saved variables.'
  return {
    ...found,
    evidence: withSetting,
    startFix: latest?.isBuilt ? deployWithSaved(appEnvId, latest.version) : null,
    runningFix: fixBy('apply-app-env-changes', { appEnvId }, effect, false),
  }
}

function deployWithSaved(appEnvId: string, version: number): Fix {
  const effect = `Deploys version ${version} with the saved variables and settings.`
  return fixBy('redeploy-app-env', { appEnvId, version, settings: 'saved' }, effect, false)
}

const summaries: Partial<Record<DiagnosisCause, string>> = {
  'wrong-port': 'the program does not listen on the port of the app',
  'loopback-bind': 'the program listens only inside its own container',
  'start-timeout': 'it accepted no connections within the time allowed',
  'out-of-memory': 'it ran out of memory',
  'bad-command': 'its command cannot be run',
  'exits-at-once': 'the program ended before it listened, and its output names no known cause',
  'missing-module': 'a module is missing in the image',
  'missing-file': 'a file or folder that it opens is missing',
  'missing-variable': 'an environment variable is missing',
  'volume-path': 'it opens the mount path of its volume, which is a path of the machine here',
  'dependency-refused': 'a service that it needs refuses connections or cannot be reached',
  'disk-full': 'no space is left on a disk',
  'failing-checks': 'it does not answer its health check as expected',
  'failed-run': 'the program ended with an error, and its output names no known cause',
  'crash-loop': 'containers end again and again, and their output names no known cause',
}

/** The explanation in the platform's words, with ids only, so that the sentence contains no tenant text. */
export function summaryOf(cause: DiagnosisCause, { appEnvId }: Facts, named: NamedCause | null): string {
  if (cause !== 'database-down') return summaries[cause] ?? cause
  const { appEnvId: database = appEnvId, status } = named?.database ?? {}
  return `the database ${database} does not run${status ? ` (${status})` : ''}`
}
