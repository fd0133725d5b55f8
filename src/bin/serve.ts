import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { tools } from '../../tools/index.ts'
import { createAlerting } from '../alerting/alerting.ts'
import { createApiServer } from '../api/server.ts'
import { every, timestamp } from '../clock.ts'
import { type Config, readConfig } from '../config.ts'
import { accountSettings } from '../contract/accounts.ts'
import { operations } from '../contract/index.ts'
import { apiPrefix } from '../contract/operation.ts'
import { hostsOf } from '../domain/hosts.ts'
import { HttpProber } from '../gateway/http-prober.ts'
import { createLog, type Log } from '../log.ts'
import type { Exposure } from '../mcp/exposure.ts'
import { exposureUsage, readExposure, splitFlags } from '../mcp/exposure-options.ts'
import { createMcpHttpHandler } from '../mcp/http.ts'
import type { Installation } from '../operations/handler.ts'
import { handlers } from '../operations/index.ts'
import { createRunner } from '../operations/runner.ts'
import { standingOf } from '../operations/standing.ts'
import { createUploadReceiver } from '../operations/upload-receiver.ts'
import { openPlatform, type Platform } from '../platform.ts'
import { Reconciler } from '../reconciler/reconciler.ts'
import { forgetAnswersBefore } from '../store/idempotency.ts'
import { forgetNoticesBefore } from '../store/notices.ts'
import { countRunningPods } from '../store/rollouts.ts'
import { forgetUnusedUploads, listUploadIds } from '../store/uploads.ts'
import { commandLine } from './build-id.ts'
import { type GatewayKeeper, keepGateway } from './keep-gateway.ts'
import { openMeasuring } from './measuring.ts'
import { watchDataKeys } from './watch-data-keys.ts'

const housekeepingMs = 10 * 60_000
const dayMs = 86_400_000

const usage = `longshore serve [options]

Runs the platform: API, MCP at /mcp, gateway and engine. The options limit what agents may do at /mcp; an address
such as /mcp?read-only=1&tools=apps,logs limits one client further.
${exposureUsage('mcp-')}
`

/** `longshore serve`: control plane, and the gateway as a process of its own. Resolves to the exit code. */
export async function runServe(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { given, rest } = splitFlags(argv, 'mcp-')
  const exposure = readExposure(
    given,
    tools.map(({ name }) => name),
  )
  const { values } = parseArgs({
    args: rest,
    options: { child: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
  })
  if (values.help) {
    process.stdout.write(usage)
    return 0
  }
  const config = readConfig(env)
  const log = createLog('serve', config.logLevel)
  const stopped = stopSignal(values.child)
  const serving = await startServing(config, log, exposure)
  const reason = await stopped
  process.stderr.write(`\nlongshore: ${reason}; finishing what is under way\n`)
  await serving.close()
  process.stderr.write(
    'longshore: stopped. Containers and the gateway keep running and are adopted at the next start; `longshore stop` ends them too.\n',
  )
  return 0
}

interface Serving {
  close(): Promise<void>
}

async function startServing(config: Config, log: Log, exposure: Exposure): Promise<Serving> {
  const platform = await openPlatform(config, log, commandLine)
  const facts = {
    apiUrl: '',
    gatewayPort: config.gatewayPort,
    ingress: { host: config.host, port: config.gatewayPort },
  }
  const measuring = await openMeasuring(platform).catch(async (error) => {
    await platform.close()
    throw error
  })
  let reconciler: Reconciler | null = null
  const { clockScale } = config
  const alerting = createAlerting({ ...platform, clockScale, apiUrl: () => facts.apiUrl })
  const runner = measuring.figures.counted(
    createRunner({
      db: platform.db,
      clock: platform.clock,
      secrets: platform.secrets,
      logs: platform.logs,
      metrics: platform.metrics,
      notices: alerting.notices,
      prober: new HttpProber({
        clock: platform.clock,
        ingress: () => facts.ingress,
        running: (appEnvId) => platform.db.read((tx) => countRunningPods(tx, appEnvId)),
      }),
      installation: installationOf(platform, facts),
      handlers,
      wake: (appEnvIds) => reconciler?.wake(appEnvIds),
    }),
  )
  const mcp = createMcpHttpHandler({
    registry: tools,
    apiUrl: () => facts.apiUrl,
    log,
    clock: platform.clock,
    exposure,
    authenticate: (token, address) => runner.authenticate(token, { address, reads: true }),
    standing: (token) => platform.db.read((tx) => standingOf(tx, token)),
    ...(isLoopback(config.host) ? {} : { allowedHosts: 'any' as const }),
  })
  const api = createApiServer({
    operations,
    runner,
    uploads: createUploadReceiver({ db: platform.db, clock: platform.clock, files: platform.uploads }),
    readiness: async () => readinessOf(reconciler, gateway),
    metricsText: () =>
      measuring.figures.text(measuring.ingress, reconciler?.measured() ?? [], platform.metrics.memoryBytes),
    mcp,
    referenceDir: path.join(import.meta.dirname, 'reference'),
    host: config.host,
    log,
  })
  let gateway: GatewayKeeper | null = null
  try {
    const address = await api.listen(config.port)
    facts.apiUrl = address.url
    gateway = await keepGateway(platform, measuring, () => reconciler)
    facts.gatewayPort = gateway.port()
    facts.ingress = gateway.address()
    reconciler = new Reconciler({
      ...platform,
      metrics: measuring,
      routes: gateway.link,
      clockScale: platform.config.clockScale,
      engines: new Map(platform.regions.map(({ region, engine }) => [region, engine])),
    })
    await reconciler.start()
    const started = reconciler
    measuring.start(started)
    alerting.start()
  } catch (error) {
    await api.close()
    gateway?.close()
    await platform.close()
    throw error
  }
  const cancelDataKeys = watchDataKeys(platform)
  const cancelHousekeeping = every(platform.clock, housekeepingMs, () => keepHouse(platform))
  sayReady(platform, facts.apiUrl, gateway.url())
  const running = { reconciler, gateway }
  return {
    async close() {
      cancelHousekeeping()
      cancelDataKeys()
      measuring.stop()
      mcp.close()
      await api.close()
      await alerting.stop()
      await running.reconciler.stop()
      running.gateway.close()
      rmSync(platform.home.serveFile, { force: true })
      await platform.close()
    },
  }
}

function installationOf(platform: Platform, facts: { apiUrl: string; gatewayPort: number }): Installation {
  const { regions } = platform
  return {
    regions: () =>
      regions.map(({ region, name, engine }) => ({
        region,
        name,
        functionDomain: engine.capabilities.scalesFunctions ? 'fn.localhost' : null,
        engine: engine.kind,
      })),
    apiUrl: () => facts.apiUrl,
    hosts: (environment, app, secrets) => {
      const engine = regions.find(({ region }) => region === environment.region)?.engine
      return hostsOf(environment, app, secrets, {
        isolates: engine?.capabilities.isolates ?? false,
        gatewayPort: facts.gatewayPort,
      })
    },
    databaseOffers: (name) => platform.databaseOffers.current(name),
    databaseImageSource: platform.config.databaseImages ?? null,
    defaultAccountSettings: accountSettings.parse({}),
    clockScale: platform.config.clockScale,
  }
}

async function readinessOf(reconciler: Reconciler | null, gateway: GatewayKeeper | null) {
  const problems = [
    reconciler ? reconciler.problem : 'The platform is still starting.',
    gateway && !gateway.link.isUp ? 'The gateway does not answer.' : null,
  ].filter((problem) => problem !== null)
  return { ready: problems.length === 0, problems }
}

async function keepHouse({ db, clock, logs, uploads, log }: Platform): Promise<void> {
  try {
    const nowMs = clock.wallMs()
    await db.write((tx) => forgetAnswersBefore(tx, timestamp(nowMs - dayMs)))
    await db.write((tx) => forgetNoticesBefore(tx, timestamp(nowMs - 7 * dayMs)))
    await db.write((tx) => forgetUnusedUploads(tx, timestamp(nowMs - dayMs)))
    await uploads.sweep(await db.read((tx) => listUploadIds(tx)))
    await logs.sweep(nowMs)
  } catch (error) {
    log.warn({ err: error }, 'housekeeping failed; it is tried again')
  }
}

/** One line of JSON on standard output for programs, the people's text on standard error (contract.md 10). */
function sayReady(platform: Platform, apiUrl: string, gatewayUrl: string): void {
  const { config, home, accountId, regions } = platform
  const kinds = regions.map(({ engine }) => engine.kind)
  const facts = {
    api: `${apiUrl}${apiPrefix}`,
    mcp: `${apiUrl}/mcp`,
    gateway: gatewayUrl,
    engine: kinds[0] ?? '',
    home: home.dir,
    accountId,
    adminTokenFile: home.adminToken,
  }
  writeFileSync(home.serveFile, JSON.stringify({ pid: process.pid, ...facts }), { mode: 0o600 })
  const lines = [
    '',
    `  Longshore is ready.`,
    '',
    `  API       ${facts.api}`,
    `  MCP       ${facts.mcp}   (or over stdio: longshore mcp)`,
    `  Apps      ${gatewayUrl}   by host: <envName>.fn.localhost, <envName>.app.localhost`,
    ...regions.map(({ region, engine }, index) => {
      const where = regions.length > 1 ? `${region}: ` : ''
      return `  ${index === 0 ? 'Engine' : '      '}    ${where}${engineText(engine.kind)}`
    }),
    `  Token     in ${facts.adminTokenFile}`,
    '',
  ]
  if (config.clockScale !== 1) {
    lines.push(
      `  WARNING   LONGSHORE_CLOCK_SCALE=${config.clockScale}: idle times and windows run that many times faster.`,
      '',
    )
  }
  if (!isLoopback(config.host)) {
    lines.push(`  WARNING   LONGSHORE_HOST=${config.host}: reachable from other machines, without TLS.`, '')
  }
  process.stderr.write(`${lines.join('\n')}\n`)
  process.stdout.write(`${JSON.stringify(facts)}\n`)
}

function engineText(kind: string): string {
  if (kind !== 'process') return kind
  return 'process: runs your code as child processes of this machine, WITHOUT isolation. Start Docker for containers.'
}

function stopSignal(child: boolean): Promise<string> {
  return new Promise((resolve) => {
    process.once('SIGTERM', () => resolve('asked to stop (SIGTERM)'))
    process.once('SIGINT', () => resolve('asked to stop (Ctrl-C)'))
    if (!child) return
    // Started by `longshore mcp`: it ends with that process, however that one ended.
    process.stdin.resume()
    process.stdin.once('end', () => resolve('the MCP server that started this has ended'))
    process.stdin.once('error', () => resolve('the MCP server that started this has ended'))
  })
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.')
}
