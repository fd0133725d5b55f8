import { getAppEnvStatus } from '../contract/app-env-reads.ts'
import { type Cli, type CliCommand, connected, type Done, environmentRef, print } from './command.ts'
import { exitCodes } from './command-io.ts'
import { statusLines } from './env-lines.ts'
import { hostHints } from './host-hints.ts'

/** `longshore status` and `longshore envs status`. */
export function addStatusCommand(parent: CliCommand, cli: Cli, done: Done): void {
  parent
    .command('status')
    .summary('status, version and addresses of an environment')
    .description(getAppEnvStatus.summary)
    .argument('<environment>', 'its id or cliEnvName')
    .runs(cli, done, async ([environment = '']) => {
      const { client, url } = await connected(cli)
      const answer = await client.call(getAppEnvStatus, environmentRef(environment))
      // A stopped environment has no use for a way to call it.
      const urls = answer.status === 'STOPPED' ? [] : answer.hosts.map((host) => host.url)
      print(cli, answer, [...statusLines(answer), ...hostHints(urls, url)])
      return exitCodes.done
    })
}
