/**
 * Token cost of a whole session of an agent (function, traffic, settings, alert, access, job, database,
 * mistakes) over MCP on a throw-away installation with the process engine: tokens of each result (o200k),
 * most expensive first.
 *
 *   npm run build && npm run bench -- agent
 */
import { readFileSync } from 'node:fs'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { tgz } from '../testkit/platform/deploy.ts'
import { Installation } from '../testkit/platform/installation.ts'

type Answer = Record<string, unknown>

const installation = new Installation({ LONGSHORE_ENGINE: 'process', LONGSHORE_LOG_LEVEL: 'error' })
const client = new Client({ name: 'agent', version: '1' })
const seen: { tool: string; what: string; tokens: number; isError: boolean }[] = []

async function call(tool: string, args: Answer = {}, what = ''): Promise<Answer> {
  const options = { timeout: 120_000, onprogress: () => {}, resetTimeoutOnProgress: true }
  const result = await client.callTool({ name: tool, arguments: args }, undefined, options)
  const text = (result.content as { text: string }[]).map((part) => part.text).join('\n')
  seen.push({ tool, what, tokens: encode(text).length, isError: result.isError === true })
  if (result.isError !== (what === 'mistake' ? true : undefined)) {
    throw new Error(`${tool} ${JSON.stringify(args)}: ${text.slice(0, 500)}`)
  }
  return (result.structuredContent ?? {}) as Answer
}

const mistake = (tool: string, args: Answer) => call(tool, args, 'mistake')

/** An app with one environment, named `<name>-prod`. */
async function make(name: string, dockerPreset: string): Promise<{ envName: string }> {
  const { accountId } = installation.ready
  const { appId } = await call('create-app', { name, accountId, port: 8080, dockerPreset })
  await call('create-app-env', { accountId, appId, name: 'prod', region: 'local' })
  return { envName: `${name}-prod` }
}

async function deploy(env: { envName: string }, files: Record<string, string>, what = ''): Promise<void> {
  const { uploadUrl, storageKey } = await call('request-deploy-storage-key', env)
  await fetch(String(uploadUrl), { method: 'PUT', body: new Uint8Array(await tgz(files)) })
  await call('notify-code-upload', { ...env, storageKey }, what)
}

const source = Object.fromEntries(
  ['Dockerfile', 'server.js'].map((name) => [name, readFileSync(`examples/hello-function/${name}`, 'utf8')]),
)
const noisy = `FROM node:22-alpine\nRUN node -e "for (let i = 0; i < 400; i++) console.log(i, 'word '.repeat(40)); process.exit(2)"\n`

async function functionScenario(): Promise<void> {
  await call('list-accounts')
  await call('list-regions')
  const hello = await make('hello', 'FUNCTION')
  await deploy(hello, source)
  await call('get-app-env', hello)
  await call('get-app-env-status', hello)
  for (let count = 0; count < 20; count += 1) await installation.request('hello-prod.fn.localhost')
  await call('get-app-env-pods', hello)
  await mistake('scale-app-env-containers', { ...hello, containers: 3 })
  await mistake('update-function-config', { ...hello, concurrency: 20 })
  await mistake('update-function-config', { ...hello, maxScale: 99 })
  await call('update-function-config', { ...hello, containerConcurrency: 20, minScale: 1 })
  await call('update-app-env-variables', { ...hello, set: [{ name: 'COLOR', value: 'green' }] })
  await call('apply-app-env-changes', hello)
  await deploy(hello, { Dockerfile: noisy }, 'mistake')
  for (const tool of ['get-app-env-history', 'get-app-env-metrics', 'get-app-env-usage', 'explain-access']) {
    await call(tool, hello)
  }
  await call('get-logs', hello)
  await call('get-logs', { ...hello, type: 'BUILD' })
  await mistake('get-app-env', { envName: 'hello' })
}

async function alertScenario(): Promise<void> {
  const { accountId } = installation.ready
  const hello = { envName: 'hello-prod' }
  const config = { url: 'https://example.com/hook' }
  const made = await call('create-contact-point', { accountId, name: 'hook', type: 'webhook', config })
  const { contactPointId } = made.contactPoint as { contactPointId: string }
  const rule = { ...hello, name: 'slow', operator: 'gt', threshold: 2, duration: '5m' }
  const contactPointIds = [contactPointId]
  await mistake('create-alert', { ...rule, metric: 'cpu_percent', contactPointIds })
  await call('create-alert', { ...rule, metric: 'ingress_p95_latency', contactPointIds, dryRun: true })
  const { alert } = await call('create-alert', { ...rule, metric: 'ingress_p95_latency', contactPointIds })
  const { alertId } = alert as { alertId: string }
  await call('refresh-alert', { alertId })
  await call('get-alert', { alertId })
  await mistake('delete-contact-point', { contactPointId, confirm: 'hook' })
  const { members } = await call('list-members', { accountId })
  const [{ membershipId }] = members as [{ membershipId: string }]
  await mistake('update-member-env-access', { accountId, membershipId, allowedAppEnvIds: [] })
  await call('list-audit', { accountId })
}

async function jobScenario(): Promise<void> {
  const report = await make('report', 'JOB')
  await mistake('start-job-run', { ...report, command: 'echo hello' })
  await deploy(report, source)
  await call('update-job-config', { ...report, command: 'echo done', applyImmediately: true })
  await call('start-job-run', report)
  await mistake('start-job-run', { ...report, command: 'exit 3' })
  await call('list-job-runs', report)
  await call('get-logs', { ...report, type: 'JOB' })
  await call('list-database-presets')
}

await installation.start()
try {
  const headers = { authorization: installation.token }
  await client.connect(
    new StreamableHTTPClientTransport(new URL(installation.ready.mcp), { requestInit: { headers } }),
  )
  await functionScenario()
  await alertScenario()
  await jobScenario()
  const { accountId } = installation.ready
  for (let index = 0; index < 30; index += 1) await make(`app-${index}`, 'CUSTOM')
  await call('list-apps', { accountId }, '32 apps')
  await call('list-app-envs', { accountId }, '32 environments')
} finally {
  await client.close()
  await installation.dispose()
}

const dearest = seen.toSorted((one, other) => other.tokens - one.tokens)
const total = (list: typeof seen) => list.reduce((sum, { tokens }) => sum + tokens, 0)
const errors = dearest.filter(({ isError }) => isError)
process.stdout.write(
  `${seen.length} calls, ${total(seen)} tokens; median ${dearest[seen.length >> 1]!.tokens}; ` +
    `${errors.length} refusals and failures, median ${errors[errors.length >> 1]!.tokens}\n`,
)
for (const { tool, what, tokens } of dearest.slice(0, 12)) {
  process.stdout.write(`${String(tokens).padStart(6)}  ${tool} ${what}\n`)
}
