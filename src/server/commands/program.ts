import type { Command, Option } from 'commander'
import { addAgentCommands } from '../../cli/agents.ts'
import { addAlertCommands } from '../../cli/alerts/command.ts'
import { addApprovalCommands } from '../../cli/approvals.ts'
import { addRestoreCommand } from '../../cli/backup.ts'
import { type Cli, CliCommand, type Done, repeated } from '../../cli/command.ts'
import { addConsoleCommand } from '../../cli/console.ts'
import { addCreateCommand } from '../../cli/create.ts'
import { addDeployCommand } from '../../cli/deploy/command.ts'
import { addJobCommands } from '../../cli/jobs/command.ts'
import { addLogsCommand } from '../../cli/logs/command.ts'
import { addMcpDoctorCommand } from '../../cli/mcp/doctor.ts'
import { addMcpInstallCommand } from '../../cli/mcp/install.ts'
import { addToolPolicyFlags } from '../../cli/mcp/tool-policy-flags.ts'
import { addPolicyCommands } from '../../cli/policy.ts'
import { addProbeCommand } from '../../cli/probe.ts'
import { addRegionCheckCommand } from '../../cli/region-check.ts'
import { addExamples } from '../../cli/rows/examples.ts'
import { addRowCommands, nounOf } from '../../cli/rows/tree.ts'
import { addStatusCommand } from '../../cli/status.ts'
import { addRotateCommand } from '../../cli/token.ts'
import { addWhyCommand } from '../../cli/why.ts'

/**
 * The whole command line: hand-written commands, then a generated command for every other operation. Large parts
 * (server, demo) are loaded when they run.
 */
export function createProgram(cli: Cli, done: Done): CliCommand {
  const program = new CliCommand('longshore')
    .description('The hosting platform that AI agents operate.')
    .option('--json', 'print the result as JSON')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void cli.io.stdout.write(text),
      // Only for help; wrong calls throw errors.
      writeErr: (text) => void cli.io.stdout.write(text),
    })
    .configureHelp({
      subcommandTerm: (command) => command.name(),
      showGlobalOptions: true,
      sortSubcommands: false,
      visibleGlobalOptions: globalOptions,
    })
    .note(
      '--version prints the version. Settings are environment variables LONGSHORE_*; README lists them.',
    ) as CliCommand
  addInstallationCommands(program, cli, done)
  addClientCommands(program, cli, done)
  addStoreCommands(program, cli, done)
  addCheckCommands(program, cli, done)
  addRowCommands(program, cli, done)
  addExamples(program)
  return program
}

/** Options of the program itself, not those of a command in between such as `mcp`. */
function globalOptions(command: Command): Option[] {
  const { hasJson, parent } = command as CliCommand
  if (parent === null || !hasJson) return []
  let root = parent
  while (root.parent) root = root.parent
  return root.options.filter(({ hidden }) => !hidden)
}

/** Hand-written commands that combine operations or format their output. */
function addClientCommands(program: CliCommand, cli: Cli, done: Done): void {
  addDeployCommand(program, cli, done)
  addCreateCommand(program, cli, done)
  addStatusCommand(program, cli, done)
  addWhyCommand(program, cli, done)
  addLogsCommand(program, cli, done)
  addProbeCommand(program, cli, done)
  addConsoleCommand(program, cli, done)
  const envs = nounOf(program, 'envs', 'environments: list, create, change, scale, stop, inspect')
  addStatusCommand(envs, cli, done)
  addLogsCommand(envs, cli, done)
  nounOf(program, 'apps', 'apps: list, create, delete')
  addJobCommands(nounOf(program, 'jobs', 'jobs: run, show output; list, follow and cancel runs'), cli, done)
  addAlertCommands(
    nounOf(program, 'alerts', 'alerts: list (firing ones first), create, preview, pause'),
    cli,
    done,
  )
  addAgentCommands(nounOf(program, 'agents', 'agents: list, pause and resume all of them'), cli, done)
  addApprovalCommands(
    nounOf(program, 'approvals', 'changes that wait for a decision: list, show, approve, deny'),
    cli,
    done,
  )
  addPolicyCommands(
    nounOf(program, 'policy', 'policy of an account: show, set, test, enforce, observe'),
    cli,
    done,
  )
  nounOf(program, 'contact-points', 'receivers of notifications: list, create, change, test')
  nounOf(program, 'chat', 'operate from a chat: connections, connect, disconnect, users')
  nounOf(program, 'invitations', 'accounts that invite you: list, accept, decline')
  addRegionCheckCommand(
    nounOf(program, 'regions', 'where environments run, and on which engine: list, check'),
    cli,
    done,
  )
  nounOf(program, 'databases', 'which databases and versions can run here: presets')
  nounOf(program, 'database-passwords', 'a new password for a database: rotate')
  nounOf(program, 'user', 'whose token this is: get')
  nounOf(program, 'causes', 'the causes that longshore why knows: list')
  nounOf(program, 'accounts', 'accounts, their limits and settings: list, create, update, usage, health')
  nounOf(program, 'instances', 'running control planes of the installation: list')
  nounOf(program, 'members', 'members of an account and the environments they may access')
  nounOf(program, 'backup', 'backups of databases and volumes: create, list, delete')
  addRestoreCommand(program, cli, done)
  addRotateCommand(
    nounOf(program, 'token', 'tokens: create (also read-only), list, revoke, rotate'),
    cli,
    done,
  )
}

/** Commands that run or end a platform. */
function addInstallationCommands(program: CliCommand, cli: Cli, done: Done): void {
  const serve = addToolPolicyFlags(
    program
      .command('serve')
      .withoutJson()
      .summary('run the platform: API, MCP, gateway and engine')
      .description(
        'Runs the platform: API, MCP at /mcp, gateway and engine. The options limit what agents may do at /mcp; an address such as /mcp?read-only=1&tools=apps,logs limits one client further.',
      ),
    'mcp-',
  ).option(
    '--mcp-allow-secrets',
    'tools at /mcp may show unmasked secret values; an agent that signed in also needs the scope secrets:read',
  ) as CliCommand
  serve.runs(cli, done, async () => (await import('../serve.ts')).runServe(cli.words.slice(1), cli.env))
  const mcp = addToolPolicyFlags(
    program
      .command('mcp')
      .withoutJson()
      .summary('serve MCP on standard input and output, for an MCP host')
      .description(
        'Serves MCP on standard input and output; an MCP host starts this command. LONGSHORE_URL and LONGSHORE_TOKEN select the platform; the default is the local installation. If that is not running, it is started and keeps running after the host has ended; longshore stop ends it.',
      ),
    '',
  ).option('--allow-secrets', 'tools may show unmasked secret values (decrypt)') as CliCommand
  mcp.runs(cli, done, async () =>
    (await import('../../cli/mcp/command.ts')).runMcp(cli.words.slice(1), cli.env),
  )
  addMcpInstallCommand(mcp, cli, done)
  addMcpDoctorCommand(mcp, cli, done)
  program
    .command('stop')
    .withoutJson()
    .description(
      'stop the platform of LONGSHORE_HOME: control plane, containers and gateway; stored data stays',
    )
    .runs(cli, done, async () => (await import('../stop.ts')).runStop(cli.env))
  program
    .command('demo')
    .withoutJson()
    .summary('run a demo on a throw-away installation')
    .description(
      'Starts a throw-away installation on free ports, connects an MCP client to it over stdio, and acts as an agent with a function: create, deploy, call, load, scale to zero and back, reconfigure. Time runs faster there (LONGSHORE_CLOCK_SCALE, default 60). LONGSHORE_ENGINE chooses the engine. On kubernetes it uses the regions file of LONGSHORE_CONFIG, or the cluster of KUBECONFIG, REGISTRY, INGRESS, DOMAIN and BUILDKIT_HOST. Everything is removed at the end. The story autonomy: a read-only agent proposes a change, a person approves it, it runs, and is undone. The story remediation: a broken version is deployed, and a remediation puts the earlier one back.',
    )
    .argument('[story]', 'function (the default), autonomy or remediation')
    .option('--engine <engine>', 'process, docker or kubernetes')
    .runs(cli, done, async ([story], { engine }) =>
      (await import('../../cli/demo/command.ts')).runDemo(cli.env, cli.io, {
        engine: engine as string | undefined,
        story,
      }),
    )
}

/** Commands that use the store of an installation directly. */
function addStoreCommands(program: CliCommand, cli: Cli, done: Done): void {
  nounOf(program, 'secrets', 'rotate the keys that encrypt secrets')
    .command('rotate')
    .withoutJson()
    .description(
      'Creates a new data key, encrypts every secret of this installation with it, and removes the old keys. Works while the platform is running, and can be interrupted and started again at any time.',
    )
    .option('--master', 'also replace the master key in the data directory')
    .option(
      '--new-master-key <file>',
      'if LONGSHORE_MASTER_KEY is set: file with the new master key (32 bytes as hex or base64); use this key for later starts',
    )
    .runs(cli, done, async (_args, { master, newMasterKey }) =>
      (await import('./secrets.ts')).runSecrets(
        { master: master === true, newMasterKey: newMasterKey as string | undefined },
        cli.env,
      ),
    )
  nounOf(program, 'store', 'copy an embedded installation into PostgreSQL')
    .command('copy')
    .withoutJson()
    .description(
      'Copies the rows of an embedded installation into an empty PostgreSQL database, in one transaction, and checks the audit log on both sides. The platform must be stopped. The source does not change. The master key is LONGSHORE_MASTER_KEY, else the file master-key in the data directory.',
    )
    .option('--from <dir>', 'the data directory (default: LONGSHORE_HOME)')
    .option(
      '--to <url>',
      'postgres://user:password@host:5432/database; default: LONGSHORE_DATABASE_URL, which keeps the password out of process lists',
    )
    .runs(cli, done, async (_args, { from, to }) =>
      (await import('./store.ts')).runStoreCopy(
        { from: from as string | undefined, to: to as string | undefined },
        cli.env,
      ),
    )
}

/** Commands that examine an installation and change nothing. */
function addCheckCommands(program: CliCommand, cli: Cli, done: Done): void {
  program
    .command('doctor')
    .summary('list what no record owns: containers, images, volumes, logs, files')
    .description(
      'Lists containers, images, volumes, logs, measurements, uploads and backups on this machine that no record of the installation owns. Changes nothing; works while the platform is running.',
    )
    .note('Exit code: 0 nothing was found, 1 something was, 2 wrong call.')
    .runs(cli, done, async () => (await import('./doctor.ts')).runDoctor({ json: cli.json }, cli.env))
  nounOf(program, 'audit', 'who did what; check that the audit log is intact, undo a change')
    .command('verify')
    .description(
      'Follows the chain of hashes of the audit log of this installation, account by account; works while the platform is running.',
    )
    .addOption(
      repeated(
        '--head <hash>',
        'a head that an earlier run printed: it must still be in a chain, or entries were cut off',
      ),
    )
    .note('Exit code: 0 the audit log is intact, 1 it is not, 2 wrong call.')
    .runs(cli, done, async (_args, { head = [] }) =>
      (await import('./audit.ts')).runAudit({ heads: head as string[], json: cli.json }, cli.env),
    )
}
