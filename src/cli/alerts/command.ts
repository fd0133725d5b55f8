import type { Client } from '../../client/client.ts'
import { systemClock } from '../../clock.ts'
import { listAccounts } from '../../contract/accounts.ts'
import { createAlert, getAlert, listAlerts, toggleAlert, updateAlert } from '../../contract/alerts.ts'
import { getAppEnv } from '../../contract/app-envs.ts'
import { defaultThresholds, type Metric, metrics, metricUnits } from '../../contract/metrics.ts'
import type { Operation, OutputOf } from '../../contract/operation.ts'
import { type Cli, type CliCommand, connected, type Done, environmentRef, print } from '../command.ts'
import { exitCodes } from '../command-io.ts'
import { addDryRun, printDryRun } from '../dry-run.ts'
import { withIds } from '../names/lookup.ts'
import { printable } from '../progress.ts'
import { addConditionOptions, conditionOf, newAlertOf } from './options.ts'
import {
  conditionText,
  type ListedAlert,
  listReport,
  metricsReport,
  type Preview,
  previewReport,
  shownStateOf,
} from './report.ts'

const readersAtOnce = 8
const environmentHint = 'its id or cliEnvName'
const alertHint = 'alerts list shows them'

/** Commands of `longshore alerts` that do more than one operation. */
export function addAlertCommands(alerts: CliCommand, cli: Cli, done: Done): void {
  addReadCommands(alerts, cli, done)
  addConditionCommands(alerts, cli, done)
  simple(alerts, cli, done, 'pause', 'pause an alert: no evaluation, no notifications', toggleAlert, {
    enabled: false,
  })
  simple(alerts, cli, done, 'resume', 'resume a paused alert', toggleAlert, { enabled: true })
  alerts
    .command('metrics')
    .description('the metrics and their units')
    .runs(cli, done, async () => {
      const shown = metrics.map((metric) => ({
        metric,
        unit: metricUnits[metric],
        defaultThreshold: defaultThresholds[metric],
      }))
      print(cli, { metrics: shown }, metricsReport())
      return exitCodes.done
    })
}

function addReadCommands(alerts: CliCommand, cli: Cli, done: Done): void {
  alerts
    .command('list')
    .description('the state of every alert, the firing ones first')
    .argument('[environment]', environmentHint)
    .option('--firing', 'only firing alerts; exit code 1 if there are any')
    .runs(cli, done, async ([environment], { firing }) => list(cli, environment, firing === true))
}

function addConditionCommands(alerts: CliCommand, cli: Cli, done: Done): void {
  addConditionOptions(
    alerts
      .command('create')
      .description('create an alert')
      .argument('<environment>', environmentHint)
      .option('--dry-run', 'check the call and show how often the alert would have fired'),
  ).runs(cli, done, async ([environment = ''], options) => {
    const { input, metric } = newAlertOf(options)
    if (options.dryRun === true)
      return preview(cli, createAlert, { ...environmentRef(environment), ...input }, metric)
    const { client } = await connected(cli)
    const named = await withIds(client, { ...environmentRef(environment), ...input })
    const answer = await client.call(createAlert, named)
    const { alert } = answer
    const names = alert.contactPoints.map(({ name }) => printable(name))
    const notifies =
      names.length === 0
        ? `No contact point is set; add one with longshore alerts update ${alert.alertId} --contact-point-ids <id or name>.`
        : `Notifies ${names.join(', ')}.`
    const condition = `${alert.alertId} fires when ${conditionText(alert)}.`
    print(cli, answer, [printable(answer.message), condition, notifies])
    return exitCodes.done
  })
  addConditionOptions(
    alerts
      .command('preview')
      .description('how often a new or changed alert would have fired; changes nothing')
      .argument('<environment or alertId>', 'an environment for a new alert, an alert for a change of it'),
  ).runs(cli, done, async ([object = ''], options) => {
    if (object.startsWith('alr_')) return previewChange(cli, object, conditionOf(options))
    const { input, metric } = newAlertOf(options)
    return preview(cli, createAlert, { ...environmentRef(object), ...input }, metric)
  })
}

async function preview(
  cli: Cli,
  row: Operation,
  input: Readonly<Record<string, unknown>>,
  metric: Metric,
): Promise<number> {
  const { client } = await connected(cli)
  const answer = await client.call(row, await withIds(client, input), { dryRun: true })
  print(cli, answer, previewReport(answer as Preview, metric))
  return exitCodes.done
}

async function previewChange(cli: Cli, alertId: string, changes: Record<string, unknown>): Promise<number> {
  const { client } = await connected(cli)
  const { metric } = await client.call(getAlert, { alertId })
  return preview(cli, updateAlert, { alertId, ...changes }, (changes.metric as Metric | undefined) ?? metric)
}

/** A command on one alert that prints the message of the response. */
function simple(
  alerts: CliCommand,
  cli: Cli,
  done: Done,
  name: string,
  description: string,
  row: typeof toggleAlert,
  input: Readonly<Record<string, unknown>>,
): void {
  addDryRun(alerts.command(name).description(description).argument('<alertId>', alertHint)).runs(
    cli,
    done,
    async ([alertId], { dryRun }) => {
      const { client } = await connected(cli)
      const named = await withIds(client, { alertId, ...input })
      if (dryRun === true) return printDryRun(cli, client, row, named)
      const answer = await client.call(row, named)
      print(cli, answer, [printable(answer.message)])
      return exitCodes.done
    },
  )
}

async function list(cli: Cli, environment: string | undefined, onlyFiring: boolean): Promise<number> {
  const { client } = await connected(cli)
  const found = environment === undefined ? await alertsOfAll(client) : await alertsOfOne(client, environment)
  const wanted = found.filter(({ alert }) => !onlyFiring || shownStateOf(alert) === 'Firing')
  const listed = await eachOf(wanted, async ({ alert, envName }): Promise<ListedAlert> => {
    const isWell = !alert.enabled || alert.lastKnownState === 'Normal'
    const details = isWell ? null : await client.call(getAlert, { alertId: alert.alertId })
    return { alert, envName, details }
  })
  const alerts = listed.map(({ alert, details }) => details ?? alert)
  const lines =
    onlyFiring && listed.length === 0 ? ['Nothing fires.'] : listReport(listed, systemClock.wallMs())
  print(cli, { alerts }, lines)
  return onlyFiring && listed.length > 0 ? exitCodes.failed : exitCodes.done
}

type NamedAlert = Omit<ListedAlert, 'details'>

async function alertsOfOne(client: Client, environment: string): Promise<NamedAlert[]> {
  const { appEnvId, cliEnvName: envName } = await client.call(getAppEnv, environmentRef(environment))
  const { alerts } = await client.call(listAlerts, { appEnvId })
  return alerts.map((alert) => ({ alert, envName }))
}

async function alertsOfAll(client: Client): Promise<NamedAlert[]> {
  const { accounts } = await client.call(listAccounts, {})
  const found: NamedAlert[] = []
  for (const { accountId } of accounts) {
    let hasMore = true
    for (let offset = 0; hasMore; offset += 1000) {
      const page: OutputOf<typeof listAlerts> = await client.call(listAlerts, {
        accountId,
        limit: 1000,
        offset,
      })
      found.push(...page.alerts.map((alert) => ({ alert, envName: alert.envName ?? alert.appEnvId })))
      hasMore = page.pagination?.hasMore === true
    }
  }
  return found
}

/** Requests all items, a few at a time, and keeps their order. */
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
