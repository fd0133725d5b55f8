import { Option } from 'commander'
import { systemClock } from '../../clock.ts'
import { getAlert, type listAlerts } from '../../contract/alerts.ts'
import { getAppEnv } from '../../contract/app-envs.ts'
import type { OutputOf } from '../../contract/operation.ts'
import type { Options } from '../command.ts'
import { exitCodes } from '../command-io.ts'
import { moreLine } from '../render.ts'
import type { RowCall, RowExtension } from '../rows/extension.ts'
import { type ListedAlert, listReport, shownStateOf } from './report.ts'

type Listed = Omit<OutputOf<typeof listAlerts>, 'alerts'> & { alerts: ListedAlert[] }

const readsAtOnce = 8

/** `alerts list`: firing alerts first, with the current value of each one that is not normal. */
export const alertListExtension: RowExtension = {
  everyAccount: true,
  options: [new Option('--firing', 'only firing alerts; exit code 1 if there are any')],
  prepare(input, { firing }) {
    if (firing === true) input.state = 'Firing'
  },
  complete: withDetails,
  render: listLines,
  exitCode: ({ alerts }: Listed, { firing }) =>
    firing === true && alerts.length > 0 ? exitCodes.failed : exitCodes.done,
}

async function withDetails(
  { client, input: { appEnvId, envName }, options: { firing } }: RowCall,
  answer: OutputOf<typeof listAlerts>,
): Promise<Listed> {
  const named = appEnvId === undefined ? envName : (await client.call(getAppEnv, { appEnvId })).cliEnvName
  const alerts = await eachOf(answer.alerts, async (alert): Promise<ListedAlert> => {
    const isWell = !alert.enabled || alert.lastKnownState === 'Normal'
    const details = isWell ? alert : await client.call(getAlert, { alertId: alert.alertId })
    return { ...details, envName: alert.envName ?? String(named ?? alert.appEnvId) }
  })
  // One may have ended since it was listed.
  const shown = alerts.filter((alert) => firing !== true || shownStateOf(alert) === 'Firing')
  return { ...answer, alerts: shown }
}

function listLines({ alerts, pagination }: Listed, { firing }: Options): string[] {
  if (firing === true && alerts.length === 0) return ['Nothing fires.']
  return [...listReport(alerts, systemClock.wallMs()), ...moreLine(alerts, pagination, undefined)]
}

/** Requests all items, a few at a time, and keeps their order. */
async function eachOf<T, R>(items: readonly T[], read: (item: T) => Promise<R>): Promise<R[]> {
  const results = new Array<R>(items.length)
  let next = 0
  const reader = async () => {
    while (next < items.length) {
      const index = next++
      results[index] = await read(items[index] as T)
    }
  }
  await Promise.all(Array.from({ length: readsAtOnce }, reader))
  return results
}
