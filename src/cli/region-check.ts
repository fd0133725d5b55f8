import { listRegions, type Region } from '../contract/regions.ts'
import { AppError } from '../errors.ts'
import { type Cli, type CliCommand, connected, type Done, print } from './command.ts'
import { exitCodes } from './command-io.ts'
import { printable } from './progress.ts'

/** `longshore region check NAME`: a line for each capability of a region. */
export function addRegionCheckCommand(parent: CliCommand, cli: Cli, done: Done): void {
  parent
    .command('check')
    .summary('what works in a region')
    .description(
      'Prints a line for each capability of a region, with what to do where one is missing. The exit code is 0 if all works that the configuration of the region asks for.',
    )
    .argument('<region>', 'its identifier, as regions list shows it')
    .runs(cli, done, async ([name = '']) => {
      const { client } = await connected(cli)
      const { regions } = await client.call(listRegions, {})
      const region = regions.find((one) => one.region === name)
      if (!region) {
        throw new AppError('not-found', 'There is no such region', {
          details: `There are: ${regions.map((one) => one.region).join(', ')}.`,
        })
      }
      print(cli, region, capabilityLines(region))
      const works = region.available && !region.missing?.length
      return works ? exitCodes.done : exitCodes.failed
    })
}

function capabilityLines({
  engine,
  available,
  unavailableReason,
  capabilities,
  missing = [],
}: Region): string[] {
  const { databases, functions, ...others } = capabilities
  const sign = (works: boolean) => (works ? '✓' : '✗')
  const line = (name: string, works: boolean, otherwise = '') => {
    const reason = missing.find(({ capability }) => capability === name)?.reason ?? otherwise
    return `${sign(works)} ${name}${works || reason === '' ? '' : `: ${printable(reason)}`}`
  }
  return [
    `${sign(available)} engine: ${engine}${available ? '' : `, ${printable(unavailableReason ?? 'away')}`}`,
    line('functions', functions, 'the region has no function domain (F5)'),
    ...Object.entries(others).map(([capability, works]) => line(capability, works)),
    ...(missing.some(({ capability }) => capability === 'metrics') ? [line('metrics', false)] : []),
    `${sign(databases.length > 0)} databases: ${databases.join(', ') || 'none can run here'}`,
  ]
}
