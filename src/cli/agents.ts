import { updateAccount } from '../contract/accounts.ts'
import { listUserTokens } from '../contract/users.ts'
import { type Cli, type CliCommand, connected, type Done, print } from './command.ts'
import { exitCodes } from './command-io.ts'
import { printable } from './progress.ts'
import { renderTable } from './render.ts'
import { accountOf } from './rows/command.ts'

/** `longshore agents`: the agents of the caller, and the stop switch of an account. */
export function addAgentCommands(agents: CliCommand, cli: Cli, done: Done): void {
  agents
    .command('list')
    .description('list your agents: those that signed in, and tokens of kind agent')
    .runs(cli, done, async () => {
      const { client } = await connected(cli)
      const { tokens } = await client.call(listUserTokens, {})
      const found = tokens.filter(({ kind }) => kind === 'agent')
      const rows = found.map(({ tokenId, name, label, readOnly, expiresAt, lastUsedAt }) => ({
        tokenId,
        agent: printable(label ?? name),
        readOnly,
        expiresAt,
        lastUsedAt,
      }))
      const none = 'You have no agents. Make a token for one: longshore token create --kind agent --name NAME'
      print(cli, { agents: found }, rows.length === 0 ? [none] : renderTable(rows, 'agents'))
      return exitCodes.done
    })
  addSwitch(agents, cli, done, {
    verb: 'pause',
    about: 'stop every write of agents, environment tokens and remediations in an account; reads work',
    paused: true,
    report: 'Agents are paused: every write of a caller that is not a person is refused from now on.',
  })
  addSwitch(agents, cli, done, {
    verb: 'resume',
    about: 'end the pause of agents',
    paused: false,
    report: 'Agents may write again.',
  })
}

function addSwitch(
  agents: CliCommand,
  cli: Cli,
  done: Done,
  { verb, about, paused, report }: { verb: string; about: string; paused: boolean; report: string },
): void {
  agents
    .command(verb)
    .description(about)
    .option('--account <account>', 'its id or name; not needed with one account')
    .runs(cli, done, async (_args, { account }) => {
      const { client } = await connected(cli)
      const accountId = await accountOf(client, account)
      print(cli, await client.call(updateAccount, { accountId, agentsPaused: paused }), [report])
      return exitCodes.done
    })
}
