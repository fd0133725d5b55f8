import packageJson from '../../package.json' with { type: 'json' }

type Run = (args: string[]) => Promise<number>

/** Commands that hosts and the platform start; they must respond within milliseconds, so they load no parser. */
const direct: Record<string, Run> = {
  mcp: async (args) => (await import('../cli/mcp/command.ts')).runMcp(args, process.env),
  gateway: async (args) => (await import('../gateway/control/command.ts')).gatewayCommand(args),
  supervise: async (args) => (await import('./supervise.ts')).runSupervise(args),
}

const everything: Run = async () =>
  (await import('./commands/run-cli.ts')).runCli(process.argv.slice(2), process.env)

const [name = '', ...args] = process.argv.slice(2)
const asksForHelp = args.includes('--help') || args.includes('-h')
if (name === '--version' || name === '-V') {
  process.stdout.write(`${packageJson.version}\n`)
} else {
  const hasSubcommand = name === 'mcp' && args.length > 0 && !args[0]!.startsWith('-')
  const run = asksForHelp || hasSubcommand ? undefined : direct[name]
  ;(run ?? everything)(args).then(
    (code) => {
      process.exitCode = code
      // Exit explicitly, because kept-alive sockets would keep the process running.
      if (code >= 0) process.exit(code)
    },
    (error) => {
      const { message, details, kind } = error as Partial<Record<string, string>>
      const text =
        kind === undefined
          ? String((error as Error).stack ?? error)
          : `${message}${details ? `\n  ${details}` : ''}`
      process.stderr.write(`longshore ${name}: ${text}\n`)
      process.exit(1)
    },
  )
}
