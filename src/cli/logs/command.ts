import { sleep, systemClock } from '../../clock.ts'
import { getLogs, type LogLine } from '../../contract/app-env-reads.ts'
import { type Cli, type CliCommand, connected, type Done, type Options, print } from '../command.ts'
import { exitCodes } from '../command-io.ts'
import { printable } from '../progress.ts'
import { addFields, inputOf } from '../rows/command.ts'
import { fieldsOf } from '../rows/fields.ts'
import { createLogFollower } from './follower.ts'

const pollMs = 1_000

/** `longshore logs` and `longshore envs logs`: raw lines; with `--follow` until Ctrl-C. */
export function addLogsCommand(parent: CliCommand, cli: Cli, done: Done): void {
  const fields = fieldsOf(getLogs)
  const command = parent
    .command('logs')
    .summary('log lines of an environment; --follow shows new ones')
    .description(`${getLogs.summary} --follow shows new lines until Ctrl-C.`)
  addFields(command, fields)
  command.option('-f, --follow', 'show new lines').runs(cli, done, async (args, options) => {
    const input = inputOf(fields, args, options)
    if (options.follow === true) return follow(cli, input)
    const { client } = await connected(cli)
    const answer = await client.call(getLogs, input)
    if (cli.json) print(cli, answer, [])
    else for (const line of answer.logs) writeLine(cli, line)
    if (answer.logs.length === 0 && !cli.json) cli.io.stderr.write(`${nothingLogged(input)}\n`)
    if (answer.cursor !== null && !cli.json) cli.io.stderr.write(`… older lines: --cursor ${answer.cursor}\n`)
    return exitCodes.done
  })
}

/** On standard error: standard output holds log lines only. */
function nothingLogged(input: Options): string {
  const { type = 'RUNTIME', appEnvId, envName, ...others } = input
  const name = appEnvId ?? envName
  if (Object.keys(others).length > 0) return 'No log line matches.'
  if (type !== 'RUNTIME') return `There are no ${type} log lines. longshore status ${name} shows what runs.`
  return `No program of this environment has written anything yet. longshore status ${name} shows what runs; --type BUILD shows the builds.`
}

async function follow(cli: Cli, query: Record<string, unknown>): Promise<number> {
  const { client } = await connected(cli)
  const interrupt = new AbortController()
  const { signal } = interrupt
  const stopListening = cli.io.onInterrupt(() => interrupt.abort(new Error('interrupted')))
  const onLine = (line: LogLine) => writeLine(cli, line)
  try {
    // Fail for an unknown environment; later reads tolerate a platform that is briefly unavailable.
    await client.call(getLogs, { ...query, size: 1 }, { signal })
    const log = createLogFollower({ client, query, signal, onLine })
    for (;;) {
      await log.show()
      await sleep(systemClock, pollMs, signal)
      signal.throwIfAborted()
    }
  } catch (error) {
    if (!signal.aborted) throw error
    return exitCodes.interrupted
  } finally {
    stopListening()
  }
}

function writeLine({ io, json }: Cli, line: LogLine): void {
  io.stdout.write(json ? `${JSON.stringify(line)}\n` : `${line.timestamp}  ${printable(line.message)}\n`)
}
