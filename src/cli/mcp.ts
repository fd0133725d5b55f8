import type { Exposure } from '../mcp/published-tool.ts'
import type { IncomingCall } from '../mcp/server.ts'
import { serveStdio } from '../mcp/stdio.ts'
import { loadToolList } from '../mcp/tool-list.ts'
import type { ToolResult } from '../mcp/tool-result.ts'

const usage = `longshore mcp [--read-only] [--allow-secrets]

Speaks MCP on standard input and output, for an MCP host to start.
  --read-only      no tool that changes anything exists
  --allow-secrets  tools may show secret values in clear (decrypt)

LONGSHORE_URL and LONGSHORE_TOKEN name the platform; without them the local installation is used, and started
when it does not run.
`

/**
 * `longshore mcp`. Answers `initialize` and `tools/list` from a list made at build time; configuration,
 * contract and client are loaded after that, and the platform is started behind it. Resolves to the exit code.
 */
export async function runMcp(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const flags = readFlags(argv)
  if (typeof flags === 'number') return flags
  let loaded: Promise<typeof import('./mcp-session.ts')> | undefined
  const load = () => {
    loaded ??= import('./mcp-session.ts')
    return loaded
  }
  const session = once(async () => (await load()).openSession(env, flags))
  let exitCode = 0
  const prepared = () => {
    session().catch((error: unknown) => {
      process.stderr.write(`longshore mcp: ${describe(error)}\n`)
      exitCode = 1
      process.exit(exitCode)
    })
  }
  await serveStdio({
    tools: await loadToolList(flags),
    callTool: async (call: IncomingCall): Promise<ToolResult> => (await session()).callTool(call),
    onAnswered: prepared,
  })
  if (loaded !== undefined) (await session()).close()
  return exitCode
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

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make()
    return made
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { details } = error as { details?: string }
  return details === undefined ? error.message : `${error.message}: ${details}`
}
