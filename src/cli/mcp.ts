import { AppError } from '../errors.ts'
import type { Exposure } from '../mcp/exposure.ts'
import { exposureUsage, readExposure, splitFlags } from '../mcp/exposure-options.ts'
import type { Prebuilt } from '../mcp/prebuilt.ts'
import { listedTools } from '../mcp/published-tool.ts'
import { serveStdio } from '../mcp/stdio.ts'
import { loadPrebuilt } from './load-prebuilt.ts'
import type { McpSession } from './mcp-session.ts'

const usage = () => `longshore mcp [options]

Speaks MCP on standard input and output, for an MCP host to start.
${exposureUsage('')}
  --allow-secrets           tools may show secret values in clear (decrypt)

LONGSHORE_URL and LONGSHORE_TOKEN name the platform; without them the local installation is used, and started
when it does not run.
`

/**
 * `longshore mcp`. Answers `initialize` and `tools/list` from what was built; configuration, library, contract
 * and client are loaded after that, and the platform is started behind it. Resolves to the exit code.
 */
export async function runMcp(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  if (argv.includes('--help') || argv.includes('-h')) {
    process.stdout.write(usage())
    return 0
  }
  const prebuilt = await loadPrebuilt()
  const exposure = exposureOf(argv, prebuilt)
  if (typeof exposure === 'string') {
    process.stderr.write(`longshore mcp: ${exposure}\n\n${usage()}`)
    return 2
  }
  const tools = listedTools(prebuilt.tools, exposure)
  let session: McpSession | undefined
  await serveStdio({
    prebuilt,
    tools,
    async openServer() {
      const { openSession } = await import('./mcp-session.ts')
      session = openSession(env, exposure, tools)
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

/**
 * What the flags state, or what is wrong with them: a mistyped safety option must stop the start. By hand, as a
 * parser would cost 15 ms.
 */
function exposureOf(argv: readonly string[], prebuilt: Prebuilt): Exposure | string {
  try {
    const { given, rest } = splitFlags(argv)
    const unknown = rest.find((flag) => flag !== '--allow-secrets')
    if (unknown !== undefined) return `unknown option ${JSON.stringify(unknown)}`
    const names = prebuilt.tools.map(({ listed }) => listed.name)
    return { ...readExposure(given, names), allowSecrets: rest.length > 0 }
  } catch (error) {
    if (error instanceof AppError) return describe(error)
    throw error
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { details } = error as { details?: string }
  return details === undefined ? error.message : `${error.message}: ${details}`
}
