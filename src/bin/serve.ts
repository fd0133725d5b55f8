import { rmSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { tools } from '../../tools/index.ts'
import { type Alerting, createAlerting } from '../alerting/alerting.ts'
import { type ApiServer, createApiServer } from '../api/server.ts'
import { type Config, readConfig } from '../config.ts'
import { accountSettings } from '../contract/accounts.ts'
import { operations } from '../contract/index.ts'
import { hostsOf } from '../domain/hosts.ts'
import { HttpProber } from '../gateway/http-prober.ts'
import { createLog, type Log } from '../log.ts'
import type { Exposure } from '../mcp/exposure.ts'
import { exposureUsage, readExposure, splitFlags } from '../mcp/exposure-options.ts'
import { createMcpHttpHandler, type McpHttpHandler } from '../mcp/http.ts'
import type { OperationRunner } from '../operations/call.ts'
import type { Installation } from '../operations/handler.ts'
import { handlers } from '../operations/index.ts'
import { createRunner } from '../operations/runner.ts'
import { standingOf } from '../operations/standing.ts'
import { createUploadReceiver } from '../operations/upload-receiver.ts'
import { openPlatform, type Platform } from '../platform.ts'
import { Reconciler } from '../reconciler/reconciler.ts'
import { type Home, homeProblem } from '../store/home.ts'
import { countRunningPods } from '../store/rollouts.ts'
import { commandLine } from './build-id.ts'
import { keepHouse } from './housekeeping.ts'
import { type GatewayKeeper, keepGateway } from './keep-gateway.ts'
import { type Measuring, openMeasuring } from './measuring.ts'
import { isLoopback, sayReady } from './say-ready.ts'
import { watchDataKeys } from './watch-data-keys.ts'

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

/** What becomes known while the platform starts, and is asked for later than that. */
interface Started {
  apiUrl: string
  gatewayPort: number
  /** Where this machine reaches the gateway. */
  ingress: { host: string; port: number }
  reconciler: Reconciler | null
  gateway: GatewayKeeper | null
}

async function startServing(config: Config, log: Log, exposure: Exposure): Promise<Serving> {
  const platform = await openPlatform(config, log, commandLine)
  const started: Started = {
    apiUrl: '',
    gatewayPort: config.gatewayPort,
    ingress: { host: config.host, port: config.gatewayPort },
    reconciler: null,
    gateway: null,
  }
  const measuring = await openMeasuring(platform).catch(async (error) => {
    await platform.close()
    throw error
  })
  const alerting = createAlerting({
    ...platform,
    clockScale: config.clockScale,
    apiUrl: () => started.apiUrl,
  })
  const runner = measuring.figures.counted(operationRunner(platform, started, alerting))
  const mcp = mcpHandler(platform, started, runner, exposure)
  const api = apiServer(platform, started, { runner, mcp, measuring })
  let reconciler: Reconciler
  let gateway: GatewayKeeper
  try {
    started.apiUrl = (await api.listen(config.port)).url
    gateway = await keepGateway(platform, measuring, () => started.reconciler)
    started.gateway = gateway
    started.gatewayPort = gateway.port()
    started.ingress = gateway.address()
    reconciler = reconcilerOf(platform, measuring, gateway)
    started.reconciler = reconciler
    await reconciler.start()
    measuring.start(reconciler)
    alerting.start()
  } catch (error) {
    await api.close()
    started.gateway?.close()
    await platform.close()
    throw error
  }
  const cancelDataKeys = watchDataKeys(platform)
  const cancelHousekeeping = keepHouse(platform)
  sayReady(platform, started.apiUrl, gateway.url())
  return {
    async close() {
      cancelHousekeeping()
      cancelDataKeys()
      measuring.stop()
      mcp.close()
      await api.close()
      await alerting.stop()
      await reconciler.stop()
      gateway.close()
      rmSync(platform.home.serveFile, { force: true })
      await platform.close()
    },
  }
}

function operationRunner(platform: Platform, started: Started, alerting: Alerting): OperationRunner {
  const { db, clock, secrets, logs, metrics } = platform
  return createRunner({
    db,
    clock,
    secrets,
    logs,
    metrics,
    notices: alerting.notices,
    prober: new HttpProber({
      clock,
      ingress: () => started.ingress,
      running: (appEnvId) => db.read((tx) => countRunningPods(tx, appEnvId)),
    }),
    installation: installationOf(platform, started),
    handlers,
    wake: (appEnvIds) => started.reconciler?.wake(appEnvIds),
  })
}

function mcpHandler(
  { config, log, clock, db }: Platform,
  started: Started,
  runner: OperationRunner,
  exposure: Exposure,
): McpHttpHandler {
  return createMcpHttpHandler({
    registry: tools,
    apiUrl: () => started.apiUrl,
    log,
    clock,
    exposure,
    authenticate: (token, address) => runner.authenticate(token, { address, reads: true }),
    standing: (token) => db.read((tx) => standingOf(tx, token)),
    ...(isLoopback(config.host) ? {} : { allowedHosts: 'any' as const }),
  })
}

function apiServer(
  { config, home, log, clock, db, metrics, uploads }: Platform,
  started: Started,
  { runner, mcp, measuring }: { runner: OperationRunner; mcp: McpHttpHandler; measuring: Measuring },
): ApiServer {
  return createApiServer({
    operations,
    runner,
    uploads: createUploadReceiver({ db, clock, files: uploads }),
    readiness: async () => readinessOf(home, started),
    metricsText: () =>
      measuring.figures.text(measuring.ingress, started.reconciler?.measured() ?? [], metrics.memoryBytes),
    mcp,
    referenceDir: path.join(import.meta.dirname, 'reference'),
    host: config.host,
    log,
  })
}

function reconcilerOf(platform: Platform, measuring: Measuring, gateway: GatewayKeeper): Reconciler {
  return new Reconciler({
    ...platform,
    metrics: measuring,
    routes: gateway.link,
    clockScale: platform.config.clockScale,
    engines: new Map(platform.regions.map(({ region, engine }) => [region, engine])),
  })
}

function installationOf(platform: Platform, started: Started): Installation {
  const { regions } = platform
  return {
    regions: () =>
      regions.map(({ region, name, engine }) => ({
        region,
        name,
        functionDomain: engine.capabilities.scalesFunctions ? 'fn.localhost' : null,
        engine: engine.kind,
      })),
    apiUrl: () => started.apiUrl,
    hosts: (environment, app, secrets) => {
      const engine = regions.find(({ region }) => region === environment.region)?.engine
      return hostsOf(environment, app, secrets, {
        isolates: engine?.capabilities.isolates ?? false,
        gatewayPort: started.gatewayPort,
      })
    },
    databaseOffers: (name) => platform.databaseOffers.current(name),
    databaseImageSource: platform.config.databaseImages ?? null,
    defaultAccountSettings: accountSettings.parse({}),
    clockScale: platform.config.clockScale,
  }
}

function readinessOf(home: Home, { reconciler, gateway }: Started) {
  const problems = [
    reconciler ? reconciler.problem : 'The platform is still starting.',
    gateway && !gateway.link.isUp ? 'The gateway does not answer.' : null,
    homeProblem(home.dir),
  ].filter((problem) => problem !== null)
  return { ready: problems.length === 0, problems }
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
