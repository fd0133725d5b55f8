import { getAppEnvStatus } from '../contract/app-env-reads.ts'
import { healthSentence } from '../contract/health.ts'
import type { OutputOf } from '../contract/operation.ts'
import { type Cli, type CliCommand, connected, type Done, environmentRef, print } from './cli-command.ts'
import { exitCodes } from './command-io.ts'
import { hostHints } from './host-hints.ts'
import { renderResult } from './render.ts'
import { inShellWords } from './row-names.ts'

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
      const urls = answer.hosts.map((host) => host.url)
      const health = answer.health ? [`${answer.health.verdict}: ${healthSentence(answer.health)}`] : []
      print(cli, answer, [...health, ...renderResult(inShell(answer)), ...hostHints(urls, url)])
      return exitCodes.done
    })
}

/** The status with the shell's commands in the message of a failure. */
function inShell(status: OutputOf<typeof getAppEnvStatus>) {
  const { currentDeployment, cliEnvName } = status
  if (!currentDeployment?.failure) return status
  const { reason, message } = currentDeployment.failure
  const failure = { reason, message: inShellWords(message, cliEnvName) }
  return { ...status, currentDeployment: { ...currentDeployment, failure } }
}
