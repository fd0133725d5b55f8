import { createAlert, getAlert, toggleAlert, updateAlert } from '../../contract/alerts.ts'
import { defaultThresholds, type Metric, metrics, metricUnits } from '../../contract/metrics.ts'
import { type Cli, type CliCommand, connected, type Done, environmentRef, print } from '../command.ts'
import { exitCodes, UsageError } from '../command-io.ts'
import { withIds } from '../names/lookup.ts'
import { addFields, inputOf, mayBeCalled, rowCommand } from '../rows/command.ts'
import type { Input } from '../rows/extension.ts'
import { fieldsOf } from '../rows/fields.ts'
import { addShortForms, completeAlert, shortForms } from './create.ts'
import { metricsReport, previewReport } from './report.ts'

/** Commands of `longshore alerts` beside those of the operations. */
export function addAlertCommands(alerts: CliCommand, cli: Cli, done: Done): void {
  addPreviewCommand(alerts, cli, done)
  rowCommand(alerts.command('pause'), toggleAlert, cli, done, { enabled: false }).description(
    'pause an alert: no evaluation, no notifications',
  )
  rowCommand(alerts.command('resume'), toggleAlert, cli, done, { enabled: true }).description(
    'resume a paused alert',
  )
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

/** The dry run of `alerts create` or `alerts update`, under a name that people look for. */
function addPreviewCommand(alerts: CliCommand, cli: Cli, done: Done): void {
  const command = alerts
    .command('preview')
    .description('how often a new or changed alert would have fired; changes nothing')
    .argument('<environment or alertId>', 'an environment for a new alert, an alert for a change of it')
  if (!mayBeCalled(cli, command)) return
  const fields = fieldsOf(updateAlert, ['alertId', 'enabled', 'expectedRevision'])
  addFields(command, fields)
  for (const option of shortForms) command.addOption(option)
  command.runs(cli, done, async ([object = ''], options) => {
    const isChange = object.startsWith('alr_')
    const input: Input = inputOf(fields, [], options)
    if (isChange) addShortForms(input, options)
    else if (input.metric === undefined)
      throw new UsageError('--metric is required; alerts metrics lists the metrics')
    else completeAlert(input, options)
    const { client } = await connected(cli)
    const metric = input.metric ?? (await client.call(getAlert, { alertId: object })).metric
    const [row, ref] = isChange ? [updateAlert, { alertId: object }] : [createAlert, environmentRef(object)]
    const answer = await client.call(row, await withIds(client, { ...ref, ...input }), { dryRun: true })
    print(cli, answer, previewReport(answer as never, metric as Metric))
    return exitCodes.done
  })
}
