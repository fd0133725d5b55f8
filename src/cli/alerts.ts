import { type Client, createClient } from '../client/client.ts'
import { systemClock } from '../clock.ts'
import { readConfig } from '../config.ts'
import { listAccounts } from '../contract/accounts.ts'
import {
  createAlert,
  deleteAlert,
  getAlert,
  listAlerts,
  refreshAlert,
  toggleAlert,
  updateAlert,
} from '../contract/alerts.ts'
import { getAppEnv, listAppEnvs } from '../contract/app-envs.ts'
import { defaultThresholds, metrics, metricUnits } from '../contract/metrics.ts'
import { conditionOf, conditionOptions, newAlertOf, parsedOptions } from './alert-options.ts'
import {
  alertReport,
  conditionText,
  type ListedAlert,
  listReport,
  metricsReport,
  type Preview,
  previewReport,
  standingOf,
} from './alert-report.ts'
import { type CommandIo, errorJson, errorText, exitCodes, processIo, UsageError } from './command-io.ts'
import {
  type Command,
  contactPointCommands,
  none,
  one,
  type Perform,
  type Run,
} from './contact-point-commands.ts'
import { resolveConnection } from './local-installation.ts'
import { printable } from './progress.ts'

const usage = `longshore alerts <what>

  list [<environment>] [--firing]   where every alert stands, the firing ones first
  get <alertId>                     one alert: value now, what happened, which notices arrived
  create <environment> --metric <metric> --to <contactPointId,...> [condition]
  preview <environment> --metric <metric> [condition]
                                    how often such an alert would have fired; changes nothing
  preview <alertId> [condition]     the same for a change of an alert
  pause <alertId>                   not looked at, tells nobody; resume <alertId> ends it
  refresh <alertId>                 looks at it now
  delete <alertId>
  points                            contact points: where notices go
  add-point --type chat|incident|webhook|email --name <name> --config <file>
                                    makes one; the file holds its settings as JSON, - is standard input
  delete-point <contactPointId>
  test <contactPointId>             sends a marked test notice, and says whether it arrived
  metrics                           what can be watched, in which unit

Condition: --gt <n> or --lt <n> (default: above the metric's own threshold), --for 5m, --range 10m,
  --aggregation mean|max|min|last, --name <text>, --description <text>
<environment> is its id or its name in URLs. --json prints answers as JSON.
Exit code 1: refused, a test notice that did not arrive, or list --firing with something firing.
`

const readersAtOnce = 8

/** `longshore alerts`: resolves to the exit code. */
export async function runAlerts(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  io: CommandIo = processIo,
): Promise<number> {
  const json = argv.includes('--json')
  const [what = '--help', ...rest] = argv.filter((one) => one !== '--json')
  try {
    if (what === '--help' || what === '-h' || rest.includes('--help') || rest.includes('-h')) {
      io.stdout.write(usage)
      return exitCodes.done
    }
    const command = Object.hasOwn(commands, what) ? commands[what] : undefined
    if (!command) throw new UsageError(`there is no alerts command ${JSON.stringify(what)}`)
    const perform = command(rest)
    const client = createClient({ ...(await resolveConnection(readConfig(env))), surface: 'cli' })
    const say = (answer: unknown, lines: readonly string[]) =>
      void io.stdout.write(json ? `${JSON.stringify(answer)}\n` : `${lines.join('\n')}\n`)
    return await perform({ client, say })
  } catch (error) {
    if (error instanceof UsageError) {
      io.stderr.write(`Error: ${error.message}.\nSee: longshore alerts --help\n`)
      return exitCodes.usage
    }
    if (json) io.stdout.write(`${JSON.stringify(errorJson(error))}\n`)
    else io.stderr.write(`${errorText(error)}\n`)
    return exitCodes.failed
  }
}

const commands: Record<string, Command> = {
  ...contactPointCommands,
  list(argv) {
    const { values, positionals } = parsedOptions(argv, { firing: { type: 'boolean' } })
    if (positionals.length > 1) throw new UsageError('name one environment, or none for all')
    return (run) => list(run, positionals[0] ?? null, values.firing === true)
  },
  get(argv) {
    const alertId = one(argv, 'an alertId; alerts list shows them')
    return async ({ client, say }) => {
      const alert = await client.call(getAlert, { alertId })
      const { cliEnvName } = await client.call(getAppEnv, { appEnvId: alert.appEnvId })
      say(alert, alertReport(alert, cliEnvName, systemClock.wallMs()))
      return exitCodes.done
    }
  },
  create(argv) {
    const { values, positionals } = parsedOptions(argv, conditionOptions)
    const environment = environmentOf(positionals)
    const { input } = newAlertOf(values)
    return async ({ client, say }) => {
      const answer = await client.call(createAlert, { ...environment, ...input })
      const { alert } = answer
      const told = alert.contactPoints.map(({ name }) => printable(name))
      const tells =
        told.length === 0 ? 'It tells NOBODY: --to names contact points.' : `Tells ${told.join(', ')}.`
      say(answer, [printable(answer.message), `${alert.alertId} fires when ${conditionText(alert)}.`, tells])
      return exitCodes.done
    }
  },
  preview(argv) {
    const { values, positionals } = parsedOptions(argv, conditionOptions)
    if (positionals[0]?.startsWith('alr_')) return previewChange(positionals, conditionOf(values))
    const environment = environmentOf(positionals)
    const { input, metric } = newAlertOf(values)
    return async ({ client, say }) => {
      const answer = await client.call(createAlert, { ...environment, ...input }, { dryRun: true })
      say(answer, previewReport(answer as unknown as Preview, metric))
      return exitCodes.done
    }
  },
  pause: (argv) => toggle(argv, false),
  resume: (argv) => toggle(argv, true),
  refresh(argv) {
    const alertId = one(argv, 'an alertId')
    return async ({ client, say }) => {
      const answer = await client.call(refreshAlert, { alertId })
      const { state, previousState, lastStateCheck } = answer
      const was = previousState === state ? 'as before' : `was ${previousState}`
      say(answer, [`${state} (${was}), looked at ${lastStateCheck}`])
      return exitCodes.done
    }
  },
  delete(argv) {
    const alertId = one(argv, 'an alertId')
    return async ({ client, say }) => {
      const answer = await client.call(deleteAlert, { alertId })
      say(answer, [printable(answer.message)])
      return exitCodes.done
    }
  },
  metrics(argv) {
    none(argv)
    return async ({ say }) => {
      const shown = metrics.map((metric) => ({
        metric,
        unit: metricUnits[metric],
        defaultThreshold: defaultThresholds[metric],
      }))
      say({ metrics: shown }, metricsReport())
      return exitCodes.done
    }
  },
}

async function list({ client, say }: Run, environment: string | null, onlyFiring: boolean): Promise<number> {
  const environments =
    environment === null ? await allEnvironments(client) : [await client.call(getAppEnv, refOf(environment))]
  const found = await eachOf(environments, async ({ appEnvId, cliEnvName }) => {
    const { alerts } = await client.call(listAlerts, { appEnvId })
    return alerts.map((alert) => ({ alert, envName: cliEnvName }))
  })
  const wanted = found.flat().filter(({ alert }) => !onlyFiring || standingOf(alert) === 'Firing')
  const listed = await eachOf(wanted, async ({ alert, envName }): Promise<ListedAlert> => {
    const isWell = !alert.enabled || alert.lastKnownState === 'Normal'
    return {
      alert,
      envName,
      details: isWell ? null : await client.call(getAlert, { alertId: alert.alertId }),
    }
  })
  const alerts = listed.map(({ alert, details }) => details ?? alert)
  const lines =
    onlyFiring && listed.length === 0 ? ['Nothing fires.'] : listReport(listed, systemClock.wallMs())
  say({ alerts }, lines)
  return onlyFiring && listed.length > 0 ? exitCodes.failed : exitCodes.done
}

async function allEnvironments(client: Client) {
  const { accounts } = await client.call(listAccounts, {})
  const lists = await eachOf(accounts, ({ accountId }) => client.call(listAppEnvs, { accountId }))
  return lists.flatMap(({ appEnvs }) => appEnvs)
}

/** Asks for all, a few at a time, and keeps their order. */
async function eachOf<T, R>(items: readonly T[], ask: (item: T) => Promise<R>): Promise<R[]> {
  const answers = new Array<R>(items.length)
  let next = 0
  const reader = async () => {
    while (next < items.length) {
      const index = next++
      answers[index] = await ask(items[index] as T)
    }
  }
  await Promise.all(Array.from({ length: readersAtOnce }, reader))
  return answers
}

function previewChange(positionals: readonly string[], changes: Record<string, unknown>): Perform {
  const alertId = one(positionals, 'one alertId')
  return async ({ client, say }) => {
    const { metric } = await client.call(getAlert, { alertId })
    const answer = await client.call(updateAlert, { alertId, ...changes }, { dryRun: true })
    const wanted = (changes.metric as typeof metric | undefined) ?? metric
    say(answer, previewReport(answer as unknown as Preview, wanted))
    return exitCodes.done
  }
}

function toggle(argv: readonly string[], enabled: boolean): Perform {
  const alertId = one(argv, 'an alertId')
  return async ({ client, say }) => {
    const answer = await client.call(toggleAlert, { alertId, enabled })
    say(answer, [printable(answer.message)])
    return exitCodes.done
  }
}

function environmentOf(positionals: readonly string[]): Record<string, string> {
  const [name, ...more] = positionals
  if (name === undefined || more.length > 0) throw new UsageError('name one environment')
  return refOf(name)
}

function refOf(environment: string): Record<string, string> {
  return environment.startsWith('env_') ? { appEnvId: environment } : { envName: environment }
}
