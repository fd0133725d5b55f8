import { rmSync } from 'node:fs'
import path from 'node:path'
import { tools } from '../../tools/index.ts'
import { type Alerting, createAlerting } from '../alerting/alerting.ts'
import { createMailer } from '../alerting/notifiers/email.ts'
import { type ApiServer, createApiServer } from '../api/server.ts'
import { type Config, readConfig } from '../config.ts'
import { accountSettings } from '../contract/accounts.ts'
import { operations } from '../contract/index.ts'
import { hostsOf } from '../domain/environments/hosts.ts'
import { HttpProber } from '../gateway/control/prober.ts'
import { isLoopback } from '../host-check.ts'
import { createLog, type Log } from '../log.ts'
import { readToolPolicy, splitFlags } from '../mcp/policy/options.ts'
import type { ToolPolicy } from '../mcp/policy/tool-policy.ts'
import { createMcpHttpHandler, type McpHttpHandler } from '../mcp/transport/http.ts'
import { serverVersion } from '../mcp/transport/server-info.ts'
import { type ConsoleSessions, createConsoleSessions } from '../operations/access/console-sessions.ts'
import { createSecretEntry } from '../operations/access/secret-entry.ts'
import { TokenMail } from '../operations/access/token-mail.ts'
import { TokenUses } from '../operations/access/token-uses.ts'
import type { OperationRunner } from '../operations/core/call.ts'
import type { Installation } from '../operations/core/handler.ts'
import { permissionsOf } from '../operations/core/permissions.ts'
import { rateLimitsOf } from '../operations/core/rate-limit.ts'
import { createRunner } from '../operations/core/runner.ts'
import { createUploadReceiver } from '../operations/deployments/upload-receiver.ts'
import { handlers } from '../operations/index.ts'
import { Reconciler } from '../regions/machine/reconciler.ts'
import { type Home, homeProblem } from '../store/data-directory.ts'
import type { Db } from '../store/db.ts'
import { storeProblem } from '../store/open.ts'
import { queueLengths } from '../store/repositories/queue-lengths.ts'
import { countRunningPods } from '../store/repositories/rollouts.ts'
import { commandLine } from './build-id.ts'
import { keepHouse } from './housekeeping.ts'
import { instancesOf } from './instances.ts'
import { type GatewayKeeper, keepGateway } from './keep-gateway.ts'
import { type Measuring, openMeasuring } from './measurements.ts'
import { openPlatform, type Platform } from './platform.ts'
import { firstSignInUrl, printReady } from './ready-line.ts'
import { watchDataKeys } from './watch-data-keys.ts'

const mailDeadlineMs = 10_000

/** `longshore serve`: control plane, and the gateway as a process of its own. Resolves to the exit code. */
export async function runServe(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { given } = splitFlags(argv, 'mcp-')
  const toolPolicy = readToolPolicy(
    given,
    tools.map(({ name }) => name),
  )
  const config = readConfig(env)
  const log = createLog('serve', config.logLevel)
  const stopped = stopSignal().then((reason) => ({ reason, exitCode: 0 }))
  let onReplaced: (reason: string) => void = () => {}
  const replaced = new Promise<{ reason: string; exitCode: number }>((resolve) => {
    onReplaced = (reason) => resolve({ reason, exitCode: 1 })
  })
  const controlPlane = await startControlPlane(config, log, toolPolicy, onReplaced)
  const { reason, exitCode } = await Promise.race([stopped, replaced])
  process.stderr.write(`\nlongshore: ${reason}; finishing requests in flight\n`)
  await controlPlane.close()
  process.stderr.write(
    'longshore: stopped. Containers and the gateway keep running and are adopted at the next start; `longshore stop` ends them too.\n',
  )
  return exitCode
}

interface ControlPlane {
  close(): Promise<void>
}

/** Values that are set during the start and used later. */
interface Started {
  apiUrl: string
  gatewayPort: number
  /** Address of the gateway on this machine. */
  ingress: { host: string; port: number }
  reconciler: Reconciler | null
  gateway: GatewayKeeper | null
}

async function startControlPlane(
  config: Config,
  log: Log,
  toolPolicy: ToolPolicy,
  onReplaced: (reason: string) => void,
): Promise<ControlPlane> {
  const platform = await openPlatform(config, log, commandLine, onReplaced)
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
  const { clockScale } = config
  const alerting = createAlerting({ ...platform, clockScale, publicUrl: () => publicUrlOf(config, started) })
  const tokenUses = new TokenUses(platform)
  const runner = measuring.figures.counted(operationRunner(platform, started, { alerting, tokenUses }))
  const mcp = mcpHandler(platform, started, runner, toolPolicy)
  const sessions = createConsoleSessions(platform)
  const api = apiServer(platform, started, { runner, mcp, measuring, sessions })
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
    await started.gateway?.close()
    await platform.close()
    throw error
  }
  const workers = [watchDataKeys(platform), keepHouse(platform, sessions)]
  const signInUrl = await firstSignInUrl(platform, started.apiUrl, sessions)
  printReady(platform, started.apiUrl, gateway.url(), signInUrl)
  return {
    async close() {
      await Promise.all(workers.map((worker) => worker.stop()))
      await measuring.stop()
      mcp.close()
      await api.close()
      await tokenUses.stop()
      await alerting.stop()
      await reconciler.stop()
      await gateway.close()
      rmSync(platform.home.serveFile, { force: true })
      await platform.close()
    },
  }
}

function operationRunner(
  platform: Platform,
  started: Started,
  { alerting, tokenUses }: { alerting: Alerting; tokenUses: TokenUses },
): OperationRunner {
  const { db, clock, secrets, logs, metrics } = platform
  return createRunner({
    db,
    clock,
    secrets,
    logs,
    metrics,
    notifications: alerting.notifications,
    prober: new HttpProber({
      clock,
      ingress: () => started.ingress,
      running: (appEnvId) => db.read((tx) => countRunningPods(tx, appEnvId)),
    }),
    installation: installationOf(platform, started),
    handlers,
    tokenMail: tokenMailOf(platform),
    tokenUses,
    rateLimits: rateLimitsOf(platform.config.rateLimits),
    wake: (appEnvIds) => started.reconciler?.wake(appEnvIds),
  })
}

function tokenMailOf({ config, clock }: Platform): TokenMail | null {
  const { smtpUrl } = config
  if (!smtpUrl) return null
  return new TokenMail(createMailer({ url: smtpUrl.reveal(), clock, deadlineMs: mailDeadlineMs }), clock)
}

function mcpHandler(
  platform: Platform,
  started: Started,
  runner: OperationRunner,
  toolPolicy: ToolPolicy,
): McpHttpHandler {
  const { config, log, clock } = platform
  return createMcpHttpHandler({
    registry: tools,
    apiUrl: () => started.apiUrl,
    log,
    clock,
    toolPolicy,
    authenticate: (token, address) => runner.authenticate(token, { address, reads: true }),
    permissions: (token) => permissionsOf(platform, token),
    host: config.host,
  })
}

interface ApiSurfaces {
  runner: OperationRunner
  mcp: McpHttpHandler
  measuring: Measuring
  sessions: ConsoleSessions
}

function apiServer(
  { config, home, log, clock, db, metrics, uploads }: Platform,
  started: Started,
  { runner, mcp, measuring, sessions }: ApiSurfaces,
): ApiServer {
  const startedMs = clock.wallMs()
  return createApiServer({
    operations,
    runner,
    uploads: createUploadReceiver({ db, clock, files: uploads }),
    secrets: createSecretEntry({ db, clock, runner }),
    readiness: () => readinessOf(db, home, started),
    async metricsText(known) {
      const store = config.databaseUrl ? 'postgresql' : 'sqlite'
      const queues = await db.read(queueLengths).catch(() => [])
      const environments = started.reconciler?.metricTargets() ?? []
      const identity = known ? ({ version: serverVersion, store } as const) : null
      const facts = { identity, startedMs, queues }
      return measuring.figures.text(measuring.ingress, environments, metrics.memoryBytes, facts)
    },
    mcp,
    console: {
      dir: path.join(import.meta.dirname, 'console'),
      sessions,
      allowsLinks: isLoopback(config.host),
    },
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
    keptVersions: platform.config.keptVersions,
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
        isolation: engine.isolation?.() ?? { metadataBlocked: false },
      })),
    instances: instancesOf(platform),
    apiUrl: () => started.apiUrl,
    publicUrl: () => publicUrlOf(platform.config, started),
    hosts: (environment, app, secrets) => {
      const engine = regions.find(({ region }) => region === environment.region)?.engine
      return hostsOf(environment, app, secrets, {
        isolates: engine?.capabilities.isolates ?? false,
        gatewayPort: started.gatewayPort,
      })
    },
    engineProblem: (region) => started.reconciler?.engineProblem(region) ?? null,
    databaseAvailability: (name) => platform.databaseAvailability.current(name),
    databaseImageSource: platform.config.databaseImages ?? null,
    defaultAccountSettings: accountSettings.parse({}),
    clockScale: platform.config.clockScale,
  }
}

/** A server bound to every address has no single address for links; uses that of this machine. */
function publicUrlOf(config: Config, { apiUrl }: Started): string {
  return config.publicUrl ?? apiUrl.replace(/^http:\/\/(?:0\.0\.0\.0|\[::\])(?=:|$)/, 'http://127.0.0.1')
}

async function readinessOf(db: Db, home: Home, { reconciler, gateway }: Started) {
  const problems = [
    reconciler ? reconciler.problem : 'The platform is still starting.',
    gateway && !gateway.link.isUp ? 'The gateway does not answer.' : null,
    homeProblem(home.dir),
    await storeProblem(db),
  ].filter((problem) => problem !== null)
  return { ready: problems.length === 0, problems }
}

function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    process.once('SIGTERM', () => resolve('stopping (SIGTERM)'))
    process.once('SIGINT', () => resolve('stopping (Ctrl-C)'))
  })
}
