import { AppError } from '../../errors.ts'
import {
  readToolPolicy,
  splitFlags,
  toolPolicyOfVariables,
  toolPolicyOptions,
} from '../../mcp/policy/options.ts'
import { narrowed, type ToolPolicy } from '../../mcp/policy/tool-policy.ts'
import type { Prebuilt } from '../../mcp/tools/prebuilt.ts'
import { listedTools, shownTools } from '../../mcp/tools/published-tool.ts'
import { serveStdio } from '../../mcp/transport/stdio.ts'
import { nearestName } from '../../nearest.ts'
import { loadPrebuilt } from '../load-prebuilt.ts'
import type { McpSession } from './session.ts'

/**
 * `longshore mcp`. Answers `initialize` and `tools/list` from the prebuilt file; then loads configuration, library,
 * contract and client, and starts the platform if needed. Resolves to the exit code.
 */
export async function runMcp(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const prebuilt = await loadPrebuilt()
  const toolPolicy = toolPolicyOf(argv, env, prebuilt)
  if (typeof toolPolicy === 'string') {
    process.stderr.write(`longshore mcp: ${toolPolicy}\nSee: longshore mcp --help\n`)
    return 2
  }
  const existing = listedTools(prebuilt.tools, toolPolicy)
  const tools = shownTools(existing, toolPolicy)
  const callable = new Set(existing.map(({ name }) => name))
  let session: McpSession | undefined
  await serveStdio({
    prebuilt,
    tools,
    async openServer(era) {
      const { openSession } = await import('./session.ts')
      session ??= openSession(env, toolPolicy, { listed: tools, callable })
      return session.serverOf(era)
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
 * The policy of the variables and flags, or an error message: a mistyped safety option must fail the start. Parsed by hand,
 * because a parser would cost 15 ms.
 */
function toolPolicyOf(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  prebuilt: Prebuilt,
): ToolPolicy | string {
  try {
    const { given, rest } = splitFlags(argv)
    const unknown = rest.find((flag) => flag !== '--allow-secrets')
    if (unknown !== undefined) {
      const known = [...Object.keys(toolPolicyOptions), 'allow-secrets'].map((name) => `--${name}`)
      const near = nearestName(unknown, known)
      return `unknown option ${JSON.stringify(unknown)}${near === null ? '' : `; did you mean ${near}?`}`
    }
    const names = prebuilt.tools.map(({ listed }) => listed.name)
    const flags = { ...readToolPolicy(given, names), allowSecrets: rest.length > 0 }
    return narrowed(toolPolicyOfVariables(env, names), flags)
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
