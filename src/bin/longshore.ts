import packageJson from '../../package.json' with { type: 'json' }

const usage = `longshore <command>

  serve      run the platform: API, MCP, gateway and engine
  mcp        speak MCP on standard input and output, for an MCP host
  deploy     deploy a folder or an image, with progress
  demo       play the whole story on a throw-away installation
  probe      load a function a little, and see what it needs
  backup     copy a PostgreSQL, MySQL or Redis database into a file; list and delete such copies
  restore    bring a backup into a new or a given environment
  jobs       run a job and see its output; list, follow and cancel runs
  alerts     where alerts stand, the firing ones first; make, preview, pause them, test contact points
  token      make, list, revoke and rotate tokens, read-only ones too
  secrets    rotate the keys that secrets are sealed with
  audit      check that the audit trail is whole
  stop       end the platform of this home: containers and gateway too

Each command has --help; --version prints the version. Settings are environment variables LONGSHORE_*; README lists them.
`

/** Each command loads only what it needs: `mcp` must answer within milliseconds. */
const commands: Record<string, (args: string[]) => Promise<number>> = {
  mcp: async (args) => (await import('../cli/mcp.ts')).runMcp(args, process.env),
  serve: async (args) => (await import('./serve.ts')).runServe(args, process.env),
  deploy: async (args) => (await import('../cli/deploy.ts')).runDeploy(args, process.env),
  demo: async (args) => (await import('../cli/demo.ts')).runDemo(args, process.env),
  stop: async (args) => (await import('./stop.ts')).runStop(args, process.env),
  probe: async (args) => (await import('../cli/probe.ts')).runProbe(args, process.env),
  backup: async (args) => (await import('../cli/backup.ts')).runBackup('backup', args, process.env),
  restore: async (args) => (await import('../cli/backup.ts')).runBackup('restore', args, process.env),
  jobs: async (args) => (await import('../cli/jobs.ts')).runJobs(args, process.env),
  alerts: async (args) => (await import('../cli/alerts.ts')).runAlerts(args, process.env),
  token: async (args) => (await import('../cli/token.ts')).runToken(args, process.env),
  secrets: async (args) => (await import('./secrets.ts')).runSecrets(args, process.env),
  audit: async (args) => (await import('./audit.ts')).runAudit(args, process.env),
  gateway: async (args) => (await import('../gateway/gateway-command.ts')).gatewayCommand(args),
  supervise: async (args) => (await import('./supervise.ts')).runSupervise(args),
}

const [name = 'help', ...args] = process.argv.slice(2)
const command = commands[name]
if (command) {
  command(args).then(
    (code) => {
      process.exitCode = code
      // A command that is done leaves; sockets kept for reuse must not hold it.
      if (code >= 0) process.exit(code)
    },
    (error) => {
      const { message, details, kind, code } = error as Partial<Record<string, string>>
      if (code?.startsWith('ERR_PARSE_ARGS')) {
        process.stderr.write(`longshore ${name}: ${message}\n  See longshore ${name} --help.\n`)
        process.exit(2)
      }
      const text =
        kind === undefined
          ? String((error as Error).stack ?? error)
          : `${message}${details ? `\n  ${details}` : ''}`
      process.stderr.write(`longshore ${name}: ${text}\n`)
      process.exit(1)
    },
  )
} else if (name === 'help' || name === '--help' || name === '-h') {
  process.stdout.write(usage)
} else if (name === '--version' || name === '-V') {
  process.stdout.write(`${packageJson.version}\n`)
} else {
  process.stderr.write(`longshore: there is no command ${JSON.stringify(name)}\n\n${usage}`)
  process.exitCode = 2
}
