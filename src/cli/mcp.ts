import { type Exposure, listedTools } from '../mcp/published-tool.ts'
import { serveStdio } from '../mcp/stdio.ts'
import { loadPrebuilt } from './load-prebuilt.ts'
import type { McpSession } from './mcp-session.ts'

const usage = `longshore mcp [--read-only] [--allow-secrets]

Speaks MCP on standard input and output, for an MCP host to start.
  --read-only      no tool that changes anything exists
  --allow-secrets  tools may show secret values in clear (decrypt)

LONGSHORE_URL and LONGSHORE_TOKEN name the platform; without them the local installation is used, and started
when it does not run.
`

/**
 * `longshore mcp`. Answers `initialize` and `tools/list` from what was built; configuration, library, contract
 * and client are loaded after that, and the platform is started behind it. Resolves to the exit code.
 */
export async function runMcp(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const flags = readFlags(argv)
  if (typeof flags === 'number') return flags
  const prebuilt = await loadPrebuilt()
  const tools = listedTools(prebuilt.tools, flags)
  let session: McpSession | undefined
  await serveStdio({
    prebuilt,
    tools,
    async openServer() {
      const { openSession } = await import('./mcp-session.ts')
      session = openSession(env, flags, tools)
      return session.server
    },
    onBroken(error) {
      process.stderr.write(`longshore mcp: ${describe(error)}\n`)
      process.exit(1)
    },
  })
  session?.close()
  return 0
}

/** Flags by hand: a mistyped safety option must stop the start, and a parser would cost 15 ms. */
function readFlags(argv: readonly string[]): Exposure | number {
  const exposure: Exposure = { allowSecrets: false, readOnly: false }
  for (const flag of argv) {
    if (flag === '--read-only') exposure.readOnly = true
    else if (flag === '--allow-secrets') exposure.allowSecrets = true
    else if (flag === '--help' || flag === '-h') {
      process.stderr.write(usage)
      return 0
    } else {
      process.stderr.write(`longshore mcp: unknown option ${JSON.stringify(flag)}\n\n${usage}`)
      return 2
    }
  }
  return exposure
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { details } = error as { details?: string }
  return details === undefined ? error.message : `${error.message}: ${details}`
}
