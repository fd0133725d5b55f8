/**
 * The cost for a scripted agent to repair "the app is down" and "the function is slow" over MCP: with the
 * reads that find the cause without the diagnosis, and with diagnose-app-env and its fix. Calls and tokens
 * (o200k) of arguments and results. Each repair has an environment of its own.
 *
 *   npm run build && npm run bench -- repairs
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { getAppEnvStatus } from '../src/contract/app-env-reads.ts'
import { createAppEnv, getAppEnv } from '../src/contract/app-envs.ts'
import { createApp } from '../src/contract/apps.ts'
import { diagnoseAppEnv } from '../src/contract/diagnosis.ts'
import { deploy, makeFunction, noWindow, sampleSource, untilDeployed } from '../testkit/platform/deploy.ts'
import { Installation } from '../testkit/platform/installation.ts'
import { untilRead } from '../testkit/until.ts'

// biome-ignore lint/suspicious/noExplicitAny: each scenario knows the shape it reads
type Answer = any
type Call = (tool: string, args: Record<string, unknown>) => Promise<Answer>

const base = 'node:20-alpine'
const installation = new Installation({ LONGSHORE_ENGINE: 'process', LONGSHORE_LOG_LEVEL: 'error' })
const client = new Client({ name: 'repairs', version: '1' })
const spent = { calls: 0, tokens: 0 }
let endOverload = async () => {}

const call: Call = async (name, args) => {
  const options = { timeout: 120_000, onprogress: () => {}, resetTimeoutOnProgress: true }
  const result = await client.callTool({ name, arguments: args }, undefined, options)
  const text = (result.content as { text: string }[]).map((part) => part.text).join('\n')
  if (result.isError) throw new Error(`${name}: ${text}`)
  spent.calls += 1
  spent.tokens += encode(JSON.stringify(args)).length + encode(text).length
  return result.structuredContent
}

/** The repair by one call of the finding's own fix. */
const byDiagnosis = async (envName: string) => {
  const { findings } = await call('diagnose-app-env', { envName })
  const { operation, input } = findings[0].fix
  await call(operation, input)
}

interface Scenario {
  name: string
  /** Answers the name of the broken environment. */
  breaks(title: string): Promise<string>
  byHand(envName: string): Promise<unknown>
  repaired(envName: string): Promise<unknown>
}

const down: Scenario = {
  name: 'app is down',
  async breaks(title) {
    const { accountId } = installation.ready
    const owner = installation.client()
    const { appId } = await owner.call(createApp, { name: title, accountId, port: 8080, ...noWindow })
    const { appEnvId } = await owner.call(createAppEnv, { accountId, appId, name: 'prod', region: 'local' })
    const { cliEnvName } = await owner.call(getAppEnv, { appEnvId })
    const good = sampleSource(base)
    const crashing = `${good['server.js']}\nsetTimeout(() => { throw new Error('the cache is not there') }, 3000)`
    for (const source of [good, { ...good, 'server.js': crashing }]) {
      await deploy(installation, appEnvId, source)
      await untilDeployed(installation, appEnvId)
    }
    await untilRead(
      () => owner.call(diagnoseAppEnv, { appEnvId }),
      ({ findings }) => findings[0]?.fix?.safe === true,
      'an app that crashes',
    )
    return cliEnvName
  },
  async byHand(envName) {
    await call('get-app-env-status', { envName })
    await call('get-app-env-pods', { envName })
    await call('get-logs', { envName })
    await call('get-app-env-history', { envName })
    await call('redeploy-app-env', { envName, version: 1 })
  },
  repaired: (envName) =>
    untilRead(
      () => installation.client().call(getAppEnvStatus, { envName }),
      ({ currentDeployment, containers }) =>
        currentDeployment?.status === 'DEPLOYED' && containers.ready === 1,
      'the version before',
    ),
}

const slow: Scenario = {
  name: 'function is slow',
  async breaks(title) {
    const settings = { containerConcurrency: 5, maxScale: 1, minScale: 1 }
    const { appEnvId, host } = await makeFunction(installation, title, settings)
    await deploy(installation, appEnvId, sampleSource(base))
    await untilDeployed(installation, appEnvId)
    endOverload = overloadOf(host, 200)
    const owner = installation.client()
    await untilRead(
      () => owner.call(diagnoseAppEnv, { appEnvId }),
      ({ findings }) => findings[0]?.fix?.safe === true,
      'a function that is too small',
    )
    return (await owner.call(getAppEnv, { appEnvId })).cliEnvName
  },
  async byHand(envName) {
    await call('get-app-env-status', { envName })
    await call('get-app-env-metrics', { envName })
    await call('get-app-env', { envName })
    await call('get-app-env-pods', { envName })
    await call('get-logs', { envName, type: 'REQUEST' })
    await call('update-function-config', { envName, maxScale: 2, applyImmediately: true })
  },
  async repaired(envName) {
    await untilRead(
      () => installation.client().call(getAppEnvStatus, { envName }),
      ({ containers }) => containers.ready === 2,
      'a second container',
    )
    await endOverload()
  },
}

/** So many requests at a time, each of 500 ms, until stopped. */
function overloadOf(host: string, connections: number) {
  let over = false
  const pause = () => new Promise((done) => setTimeout(done, 200))
  const asking = Array.from({ length: connections }, async () => {
    while (!over) {
      const { status } = await installation.request(host, '/?ms=500').catch(() => ({ status: 0 }))
      if (status !== 200) await pause()
    }
  })
  return async () => {
    over = true
    await Promise.all(asking)
  }
}

await installation.start()
try {
  const requestInit = { headers: { authorization: installation.token } }
  await client.connect(new StreamableHTTPClientTransport(new URL(installation.ready.mcp), { requestInit }))
  for (const { name, breaks, byHand, repaired } of [down, slow]) {
    for (const [way, repair] of [
      ['before', byHand],
      ['after', byDiagnosis],
    ] as const) {
      const envName = await breaks(`${name} ${way}`)
      Object.assign(spent, { calls: 0, tokens: 0 })
      await repair(envName)
      const { calls, tokens } = spent
      await repaired(envName)
      console.log(`${name}, ${way.padEnd(6)} ${calls} calls, ${tokens} tokens`)
    }
  }
} finally {
  await endOverload()
  await client.close()
  await installation.dispose()
}
