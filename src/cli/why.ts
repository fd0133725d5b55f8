import type { Client } from '../client/client.ts'
import { getAppEnv } from '../contract/app-envs.ts'
import { diagnoseAppEnv, type Evidence, type Finding, getAccountHealth } from '../contract/diagnosis.ts'
import { operations } from '../contract/index.ts'
import type { OutputOf } from '../contract/operation.ts'
import { type Cli, type CliCommand, connected, type Done, environmentRef, print } from './command.ts'
import { exitCodes } from './command-io.ts'
import { healthReport, severitySigns as signs } from './health-report.ts'
import { printable } from './progress.ts'
import { accountOf } from './rows/command.ts'
import { kebab } from './rows/fields.ts'
import { inShellWords, wordsOf } from './rows/words.ts'

const environmentId = /\benv_[a-z0-9]+\b/g

/** `longshore why`: the problem of an environment, and the command that fixes it. */
export function addWhyCommand(parent: CliCommand, cli: Cli, done: Done): void {
  parent
    .command('why')
    .summary('why an environment does not work, and what fixes it; without one, what is wrong in the account')
    .description(inShellWords(diagnoseAppEnv.summary))
    .argument('[environment]', 'its id, or its name in URLs; omitted: the whole account')
    .option('--account <account>', 'its id or name; not needed with one account')
    .runs(cli, done, async ([environment], { account }) => {
      const { client } = await connected(cli)
      if (environment === undefined) {
        const health = await client.call(getAccountHealth, { accountId: await accountOf(client, account) })
        print(cli, health, healthReport(health))
        return exitCodes.done
      }
      const answer = await client.call(diagnoseAppEnv, environmentRef(environment))
      print(cli, answer, diagnosisReport(answer, environment, await environmentNames(client, answer)))
      return exitCodes.done
    })
}

/** Names for the environments that findings and fixes mention by id. */
async function environmentNames(
  client: Client,
  { findings }: OutputOf<typeof diagnoseAppEnv>,
): Promise<(text: string) => string> {
  const ours = JSON.stringify(findings.map(({ summary, fix }) => [summary, fix]))
  const names = new Map<string, string>()
  for (const appEnvId of new Set(ours.match(environmentId) ?? [])) {
    const found = await client.call(getAppEnv, { appEnvId }).catch(() => null)
    if (found) names.set(appEnvId, found.cliEnvName)
  }
  return (text) => text.replace(environmentId, (id) => names.get(id) ?? id)
}

function diagnosisReport(
  { findings, checked }: OutputOf<typeof diagnoseAppEnv>,
  environment: string,
  named: (text: string) => string,
): string[] {
  if (findings.length === 0) return [`✓ No cause found. Checked: ${checked.join(', ')}.`]
  return findings.flatMap((finding, index) => [
    ...(index === 0 ? [] : ['']),
    ...findingLines(finding, environment, named),
  ])
}

function findingLines(finding: Finding, environment: string, named: (text: string) => string): string[] {
  const { cause, severity, confidence, summary, since, evidence, fix } = finding
  const words = (text: string) => named(inShellWords(printable(text), environment))
  return [
    `${signs[severity]} ${cause} (${confidence}${since === null ? '' : `, since ${since}`})`,
    `  ${words(summary)}`,
    ...evidence.map((one) => `    ${evidenceLine(one, words)}`),
    ...(fix === null ? [] : fix.effects.map((effect) => `  ${words(effect)}`)),
    ...(fix === null
      ? []
      : [`  ${fix.safe ? 'Fix' : 'Possible fix'}: ${named(shellCommand(fix.operation, fix.input))}`]),
  ]
}

/** Output of a program is shown as it is; only the platform's own text gets the names of commands. */
function evidenceLine({ source, at, text, value }: Evidence, words: (text: string) => string): string {
  const isOutput = source === 'log' || source === 'build-log'
  const shown = text === undefined ? null : isOutput ? printable(text) : words(text)
  const parts = [at, `${source}:`, shown, value]
  return parts.filter((part) => part !== null && part !== undefined).join(' ')
}

/** A call of the platform as a command that can be pasted into a shell. */
function shellCommand(operationId: string, input: Readonly<Record<string, unknown>>): string {
  const row = operations.find(({ id }) => id === operationId)
  if (!row) return operationId
  const positional = row.policy.on === 'alert' ? 'alertId' : 'appEnvId'
  const options = Object.entries(input)
    .filter(([field]) => field !== positional)
    .flatMap(([field, value]) => optionWords(field, value))
  return ['longshore', ...wordsOf(operationId), String(input[positional] ?? ''), ...options].join(' ')
}

function optionWords(field: string, value: unknown): string[] {
  const flag = `--${kebab(field)}`
  if (typeof value === 'boolean') return [value ? flag : `--no-${kebab(field)}`]
  const values = Array.isArray(value) ? value : [value]
  return values.flatMap((one) => [flag, quoted(wordOf(one))])
}

function wordOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  const { name, value: inner } = value as { name?: unknown; value?: unknown }
  return name === undefined ? JSON.stringify(value) : `${name}=${inner ?? ''}`
}

/** Quoted so that a shell takes it for one word, whatever it contains. */
function quoted(word: string): string {
  return /^[\w.:/=,@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
