import { tools } from '../../../tools/index.ts'
import { type Client, createClient, newAgentSession } from '../../client/client.ts'
import { createReconnectingClient } from '../../client/reconnecting-client.ts'
import { systemClock } from '../../clock.ts'
import { type Config, readConfig } from '../../config/config.ts'
import { AppError } from '../../errors.ts'
import { processQuestionStates } from '../../mcp/policy/questions.ts'
import type { ToolPolicy } from '../../mcp/policy/tool-policy.ts'
import type { ListedTool } from '../../mcp/tools/published-tool.ts'
import { createReadCache } from '../../mcp/tools/read-cache.ts'
import { RetriedCalls } from '../../mcp/tools/retried-calls.ts'
import { runTool } from '../../mcp/tools/run-tool.ts'
import { agentNameOf, type IncomingCall, type McpServerOptions } from '../../mcp/transport/responses.ts'
import type { McpServer } from '../../mcp/transport/server.ts'
import type { Era } from '../../mcp/transport/stdio.ts'
import { spanIn } from '../../trace.ts'
import { localAgentToken } from '../local/agent-token.ts'
import { LocalPlatform } from '../local/platform.ts'

export interface McpSession {
  /** Loads the library of an era; the servers of both share everything else. */
  serverOf(era: Era): Promise<McpServer>
  close(): void
}

/** The full server of one stdio client. Throws when the configuration is invalid. */
export function openSession(
  env: NodeJS.ProcessEnv,
  toolPolicy: ToolPolicy,
  { listed, callable }: { listed: ListedTool[]; callable: ReadonlySet<string> },
): McpSession {
  const config = readConfig(env)
  // One client, so one name in the audit log for all its calls.
  const agentSession = newAgentSession()
  const platform =
    config.url === undefined
      ? localPlatform(config, env, agentSession)
      : remotePlatform(config, config.url, agentSession)
  const client = createReconnectingClient(platform.connect)
  const reads = createReadCache(client, systemClock)
  const retries = new RetriedCalls(systemClock)
  const registry = new Map(tools.map((tool) => [tool.name, tool]))
  const options: McpServerOptions = {
    tools: () => listed,
    callable: () => callable,
    async callTool(call) {
      const stopTelling = tellWaiting(call, platform.connect)
      const { signal, progress, askPerson, takesTasks, task } = call
      const traceparent = spanIn(call.traceparent)
      const served = {
        tools: registry,
        toolPolicy,
        client,
        reads,
        retries,
        clock: systemClock,
        onFault: reportFault,
      }
      try {
        const agent = agentNameOf(call.clientInfo)
        return await runTool(
          { ...served, caller: '', signal, traceparent, agent, progress, askPerson, takesTasks, task },
          call.name,
          call.args,
        )
      } finally {
        stopTelling()
      }
    },
  }
  return { serverOf: (era) => serverOf(era, options), close: platform.close }
}

async function serverOf(era: Era, options: McpServerOptions): Promise<McpServer> {
  if (era === 'initialize') return (await import('../../mcp/transport/server.ts')).createMcpServer(options)
  const { createStdioServer2026 } = await import('../../mcp/transport/stdio-2026.ts')
  const questions = processQuestionStates(systemClock)
  return createStdioServer2026({ ...options, questions }, systemClock)
}

interface Platform {
  connect(again: boolean): Promise<Client>
  close(): void
}

function remotePlatform(config: Config, url: string, agentSession: string): Platform {
  const token = config.token?.reveal()
  if (token === undefined) {
    throw new AppError('invalid', 'LONGSHORE_TOKEN is missing', {
      details: 'LONGSHORE_URL is set; also set LONGSHORE_TOKEN to a token of that platform.',
    })
  }
  const client = createClient({ url, token, surface: 'mcp', agentSession })
  return { connect: async () => client, close: () => {} }
}

/** The platform of this machine, which keeps running at the end. Starts it now; the first call waits for it. */
function localPlatform(config: Config, env: NodeJS.ProcessEnv, agentSession: string): Platform {
  const platform = new LocalPlatform({
    home: config.home,
    command: [process.execPath, process.argv[1] ?? '', 'serve'],
    env,
    clock: systemClock,
  })
  let connected: Promise<Client> | undefined
  const connect = (again: boolean): Promise<Client> => {
    if (connected !== undefined && !again) return connected
    const connecting = (async () => {
      const url = await platform.ensure()
      const token = config.token?.reveal() ?? (await localAgentToken(config.home, url))
      if (token === null) throw noToken(config.home)
      return createClient({ url, token, surface: 'mcp', agentSession })
    })()
    connected = connecting
    connecting.catch(() => {
      // The next call tries again, because the problem may be fixed by then.
      if (connected === connecting) connected = undefined
    })
    return connecting
  }
  connect(false).catch(() => {})
  return { connect, close: () => {} }
}

function noToken(home: string): AppError {
  return new AppError('unauthenticated', 'No token was found', {
    details: `${home} has neither an agent-token nor an admin-token file. Set LONGSHORE_TOKEN to a user token.`,
  })
}

/** Sends progress every two seconds while the platform is starting. */
function tellWaiting(call: IncomingCall, connect: (again: boolean) => Promise<Client>): () => void {
  const { progress } = call
  if (progress === null) return () => {}
  const startedMs = systemClock.monotonicMs()
  const timer = setInterval(() => {
    const seconds = Math.round((systemClock.monotonicMs() - startedMs) / 1000)
    progress(`The platform is starting, ${seconds} s`, seconds, undefined)
  }, 2_000)
  const stop = () => clearInterval(timer)
  connect(false).then(stop, stop)
  return stop
}

function reportFault(error: unknown, requestId: string, tool: string): void {
  void import('../../log.ts').then(({ createLog }) => {
    createLog('mcp').error({ err: error, requestId, tool }, 'tool call failed')
  })
}
