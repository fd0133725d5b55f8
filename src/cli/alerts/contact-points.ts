import { Option } from 'commander'
import { listAccounts } from '../../contract/accounts.ts'
import {
  contactPointTypes,
  createContactPoint,
  deleteContactPoint,
  listContactPoints,
  testContactPoint,
} from '../../contract/contact-points.ts'
import { type Cli, type CliCommand, choice, connected, type Done, print } from '../command.ts'
import { exitCodes, UsageError } from '../command-io.ts'
import { addDryRun, printDryRun } from '../dry-run.ts'
import { withIds } from '../names/lookup.ts'
import { printable } from '../progress.ts'
import { accountOf, rowCommand } from '../rows/command.ts'
import { positionalHelp } from '../rows/field-help.ts'
import { jsonOf } from '../rows/fields.ts'
import { pointsReport } from './report.ts'

/** Shortcuts below `longshore alerts`; `longshore contact-points` has every operation. */
export function addContactPointCommands(alerts: CliCommand, cli: Cli, done: Done): void {
  alerts
    .command('points')
    .description('contact points: where notifications go')
    .runs(cli, done, async () => {
      const { client } = await connected(cli)
      const { accounts } = await client.call(listAccounts, {})
      const lists = accounts.map(({ accountId }) => client.call(listContactPoints, { accountId }))
      const contactPoints = (await Promise.all(lists)).flatMap((list) => list.contactPoints)
      print(cli, { contactPoints }, pointsReport(contactPoints))
      return exitCodes.done
    })
  addPointCommand(alerts, cli, done)
  rowCommand(alerts.command('delete-point'), deleteContactPoint, cli, done)
}

function addPointCommand(alerts: CliCommand, cli: Cli, done: Done): void {
  addDryRun(alerts.command('add-point'))
    .description('create a contact point')
    .needs(choice('--type <type>', 'type of receiver', contactPointTypes))
    .needs(new Option('--name <name>', 'at most 50 characters'))
    .needs(
      new Option(
        '--config <file>',
        'file with its settings as JSON, such as {"url": "https://..."}; - is standard input',
      ),
    )
    .option('--account <account>', 'its id or name; not needed with one account')
    .runs(cli, done, async (_args, { type, name, config: file, account, dryRun }) => {
      // From a file or standard input, which keeps addresses and keys out of process lists and shell histories.
      const config = configIn(String(file))
      const { client } = await connected(cli)
      const accountId = await accountOf(client, account)
      const input = { accountId, type, name, config }
      if (dryRun === true) return printDryRun(cli, client, createContactPoint, input)
      const answer = await client.call(createContactPoint, input)
      const { contactPointId } = answer.contactPoint
      print(cli, answer, [
        `${printable(answer.message)} ${contactPointId}`,
        `Try it: longshore contact-points test ${contactPointId}`,
      ])
      return exitCodes.done
    })
}

/** Also `contact-points test`: the exit code shows whether the notification arrived. */
export function addTestCommand(noun: CliCommand, cli: Cli, done: Done): void {
  noun
    .command('test')
    .description('send a test notification, and show whether it arrived')
    .argument('<contactPointId>', positionalHelp('contactPointId'))
    .runs(cli, done, async ([word]) => {
      const { client } = await connected(cli)
      const { contactPointId } = await withIds(client, { contactPointId: word })
      const answer = await client.call(testContactPoint, { contactPointId })
      const attempts = answer.attempts.map(({ at, ok, reason = '' }) =>
        `  ${ok ? '✓' : '✗'} ${at}  ${printable(reason)}`.trimEnd(),
      )
      const verdict = answer.delivered
        ? 'The test notification arrived.'
        : 'The test notification did NOT arrive.'
      print(cli, answer, [verdict, ...attempts])
      return answer.delivered ? exitCodes.done : exitCodes.failed
    })
}

function configIn(file: string): unknown {
  const config = jsonOf('--config', file === '-' ? file : `@${file}`, 'a file with JSON')
  if (typeof config === 'object' && config !== null) return config
  throw new UsageError(`--config ${file} must contain an object such as {"url": "https://..."}`)
}
