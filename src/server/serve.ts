import { rmSync } from 'node:fs'
import path from 'node:path'
import { tools } from '../../tools/index.ts'
import { createMailer } from '../alerting/notifiers/email.ts'
import { type ApiServer, createApiServer } from '../api/server.ts'
import { systemClock } from '../clock.ts'
import { type Config, readConfig } from '../config/config.ts'
import { operations } from '../contract/index.ts'
import { HttpProber } from '../gateway/control/prober.ts'
import { continueAfterBugs } from '../last-resort.ts'
import { createLog, type Log } from '../log.ts'
import { isLoopback } from '../loopback.ts'
import { readToolPolicy, splitFlags, toolPolicyOfVariables } from '../mcp/policy/options.ts'
import { narrowed, type ToolPolicy } from '../mcp/policy/tool-policy.ts'
import { createMcpHttpHandler, type McpHttpHandler } from '../mcp/transport/http/handler.ts'
import { serverVersion } from '../mcp/transport/server-info.ts'
import { createSecretEntry } from '../operations/access/secret-entry.ts'
import { TokenMail } from '../operations/access/token-mail.ts'
import { TokenUses } from '../operations/access/token-uses.ts'
import { createDecisionLinks } from '../operations/approvals/decision-links.ts'
import { isUndoable } from '../operations/audit/undo-handlers.ts'
import type { OperationRunner } from '../operations/core/call.ts'
import type { Sources } from '../operations/core/handler.ts'
import { rateLimitsOf } from '../operations/core/rate-limit.ts'
import { createRunner } from '../operations/core/runner.ts'
import { createUploadReceiver } from '../operations/deployments/upload-receiver.ts'
import { handlers } from '../operations/index.ts'
import { queueLengths } from '../store/repositories/queue-lengths.ts'
import { countRunningPods } from '../store/repositories/rollouts.ts'
import { commandLine } from './build-id.ts'
import { chatOf } from './chat.ts'
import { certificateDays } from './domains/metrics.ts'
import { orderCertificates } from './domains/order-certificates.ts'
import { copyLogs, sweepFiles } from './housekeeping.ts'
import {
  installationOf,
  namesOf,
  notificationFacts,
  notStarted,
  publishedFacts,
  readinessOf,
  type Started,
  wakeEnvironments,
} from './installation.ts'
import { sharingOf } from './instances/known.ts'
import { Peers, peerPath } from './instances/peers.ts'
import { sharedQuestionStates } from './instances/question-states.ts'
import { EnvironmentMachines, everywhere, peerMethods, uploadsElsewhere } from './instances/remote-data.ts'
import { linkMail, type SharedWork, shareWork } from './instances/shared-work.ts'
import { watchDataKeys } from './instances/watch-data-keys.ts'
import { keepGateway } from './keep-gateway.ts'
import { loadLater } from './load-later.ts'
import { mcpAccess, type OAuth, oauthOf } from './oauth.ts'
import { openPlatform, type Platform } from './platform.ts'
import { firstSignInUrl, printReady } from './ready-line.ts'
import { logsHere, reconcilerOf, runClusters } from './regions/run.ts'
import { openSignIn } from './sign-in.ts'
import { type StopStep, stopInOrder, stopSignal } from './stop-in-order.ts'
import { type Measuring, openMeasuring } from './telemetry/measurements.ts'

const mailDeadlineMs = 10_000
/** Less than `longshore stop` waits. Work that has not ended by then continues at the next start, as after a crash. */
const stopLimitMs = 25_000

/** `longshore serve`: control plane, and the gateway as a process of its own. Resolves to the exit code. */
export async function runServe(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { given, rest } = splitFlags(argv, 'mcp-')
  const names = tools.map(({ name }) => name)
  const flags = { ...readToolPolicy(given, names), allowSecrets: rest.includes('--mcp-allow-secrets') }
  const toolPolicy = narrowed(toolPolicyOfVariables(env, names), flags)
  const config = readConfig(env)
  const log = createLog('serve', config.logLevel)
  const stopped = stopSignal().then((reason) => ({ reason, exitCode: 0 }))
  let onReplaced: (reason: string) => void = () => {}
  const replaced = new Promise<{ reason: string; exitCode: number }>((resolve) => {
    onReplaced = (reason) => resolve({ reason, exitCode: 1 })
  })
  const controlPlane = await startControlPlane(config, log, toolPolicy, onReplaced)
  void loadLater(config, log)
  continueAfterBugs((error) => log.fatal({ err: error }, 'bug: the control plane continues'))
  const { reason, exitCode } = await Promise.race([stopped, replaced])
  process.stderr.write(`\nlongshore: ${reason}; finishing requests in flight\n`)
  const unended = await stopInOrder(controlPlane, stopLimitMs, systemClock)
  if (unended) log.warn({ step: unended }, 'not ended in time; the next start continues its work')
  process.stderr.write(
    'longshore: stopped. Containers and the gateway keep running and are adopted at the next start; `longshore stop` ends them too.\n',
  )
  return exitCode
}

async function startControlPlane(
  config: Config,
  log: Log,
  toolPolicy: ToolPolicy,
  onReplaced: (reason: string) => void,
): Promise<readonly StopStep[]> {
  const platform = await openPlatform(config, log, commandLine, onReplaced)
  const started = notStarted(config)
  const measuring = await openMeasuring(platform).catch(async (error) => {
    await platform.close()
    throw error
  })
  const { membership } = platform
  const work = shareWork(platform, platform.directory, notificationFacts(config, started))
  const tokenUses = new TokenUses(platform)
  const sources = dataSources(platform, started)
  const runner = measuring.figures.counted(operationRunner(platform, started, { work, tokenUses, sources }))
  const oauth = oauthOf(platform, () => started.apiUrl)
  const mcp = mcpHandler(platform, started, toolPolicy, { runner, oauth, api: () => api })
  const wakeMail = config.smtpUrl ? () => membership.wakeLease(linkMail) : null
  const signIn = openSignIn({ ...platform, ...config, wakeMail })
  const dataKeys = watchDataKeys(platform, (keyId) => {
    started.dataKey = keyId
  })
  const chat = chatOf(platform, started, runner)
  const api = apiServer(platform, started, { runner, mcp, measuring, signIn, sources, oauth, chat })
  let begun: Awaited<ReturnType<typeof begin>>
  try {
    await listen(api, platform, started)
    begun = await begin(platform, started, measuring, work)
    work.evaluator.start()
    membership.describe(() => publishedFacts(platform, started))
    orderCertificates(platform, started)
    await membership.start(work.wakes((appEnvIds) => wakeEnvironments(started, appEnvIds)))
  } catch (error) {
    await api.close()
    await started.gateway?.close()
    await platform.close()
    throw error
  }
  const { gateway, reconciler, checks } = begun
  const workers = [dataKeys, ...sweepFiles(platform), copyLogs(platform), ...checks]
  const signInUrl = await firstSignInUrl(platform, started.apiUrl, signIn.sessions)
  printReady(platform, started, gateway.url(), signInUrl)
  return [
    ['measurements', () => measuring.stop()],
    ['MCP', () => mcp.close()],
    ['API', () => api.close()],
    ['answers to chats', () => chat.stop()],
    ['uses of tokens', () => tokenUses.stop()],
    ['alerting', () => work.stop()],
    ['regions', () => Promise.all([reconciler, ...started.clusters].map((one) => one.stop()))],
    ['link to the gateway', () => gateway.close()],
    ['address file', () => rmSync(platform.home.serveFile, { force: true })],
    ['checks and copies of files', () => Promise.all(workers.map((worker) => worker.stop()))],
    ['store', () => platform.close()],
  ]
}

/** On its port, and for the gateway, which serves it under the public host. */
async function listen(api: ApiServer, { config, home }: Platform, started: Started): Promise<void> {
  started.apiUrl = (await api.listen(config.port)).url
  if (config.publicUrl !== undefined) await api.listenAt(home.apiSocket)
}

/** Starts gateway and reconciler, which bring this machine to the stored state. */
async function begin(platform: Platform, started: Started, measuring: Measuring, work: SharedWork) {
  const gateway = await keepGateway(platform, measuring, () => started.reconciler)
  started.gateway = gateway
  started.gatewayPort = gateway.port()
  started.ingress = gateway.address()
  const reconciler = reconcilerOf(platform, measuring, gateway)
  started.reconciler = reconciler
  await reconciler.start()
  measuring.start(reconciler)
  return { gateway, reconciler, checks: runClusters(platform, started, work.evaluatorOf) }
}

/** Logs, metrics and probes: those of this machine, and from any machine. */
interface DataSources {
  local: Sources
  all: Sources
  peers: Peers
  machines: EnvironmentMachines
}

function dataSources(platform: Platform, started: Started): DataSources {
  const { db, clock, readings: metrics, secrets, nodeName, log, directory, membership } = platform
  const prober = new HttpProber({
    clock,
    ingress: () => started.ingress,
    running: (appEnvId) => db.read((tx) => countRunningPods(tx, appEnvId)),
  })
  const local = { logs: logsHere(platform, started), metrics, prober }
  const peers = new Peers(secrets, nodeName, log)
  const machines = new EnvironmentMachines(directory, membership)
  return { local, peers, machines, all: membership.isShared ? everywhere(local, machines, peers) : local }
}

function operationRunner(
  platform: Platform,
  started: Started,
  { work, tokenUses, sources }: { work: SharedWork; tokenUses: TokenUses; sources: DataSources },
): OperationRunner {
  const { clock, secrets, membership, nodeName } = platform
  const runner = createRunner({
    db: platform.reserve.guard(platform.db),
    clock,
    secrets,
    sources: sources.all,
    notifications: work.sender,
    installation: installationOf(platform, started),
    handlers,
    isUndoable,
    tokenMail: tokenMailOf(platform),
    tokenUses,
    rateLimits: rateLimitsOf(platform.config.rateLimits),
    node: membership.isShared ? nodeName : 'local',
    isAlive: (node) => membership.instances().some((one) => one.node === node && one.isAlive),
    rateSharing: work.rateSharing,
    wake: (appEnvIds) => {
      wakeEnvironments(started, appEnvIds)
      membership.announce(appEnvIds)
    },
  })
  started.environments = runner
  return runner
}

function tokenMailOf({ config, clock }: Platform): TokenMail | null {
  const { smtpUrl } = config
  if (!smtpUrl) return null
  return new TokenMail(createMailer({ url: smtpUrl.reveal(), clock, deadlineMs: mailDeadlineMs }), clock)
}

function mcpHandler(
  platform: Platform,
  started: Started,
  toolPolicy: ToolPolicy,
  { runner, oauth, api }: { runner: OperationRunner; oauth: OAuth | undefined; api: () => ApiServer },
): McpHttpHandler {
  const { config, log, clock, spans } = platform
  return createMcpHttpHandler({
    registry: tools,
    apiUrl: () => started.apiUrl,
    spans: spans ?? undefined,
    send: (url, request) => api().send(url, request),
    ...{ log, clock, toolPolicy, ...mcpAccess(platform, runner, oauth), ...namesOf(config) },
    questions: sharedQuestionStates(platform),
  })
}

interface ApiSurfaces {
  runner: OperationRunner
  mcp: McpHttpHandler
  measuring: Measuring
  signIn: ReturnType<typeof openSignIn>
  sources: DataSources
  oauth: OAuth | undefined
  chat: ReturnType<typeof chatOf>
}

function apiServer(
  platform: Platform,
  started: Started,
  { runner, mcp, measuring, signIn, sources, oauth, chat }: ApiSurfaces,
): ApiServer {
  const { config, log, clock, db, metrics, uploads, hasSharedFiles, membership } = platform
  const startedMs = clock.wallMs()
  const { isShared } = membership
  const { peers, machines, local } = sources
  const methods = peerMethods(local)
  const peer = { path: peerPath, serve: (sealed: string) => peers.serve(methods, sealed) }
  const elsewhere = uploadsElsewhere(machines, peers)
  return createApiServer({
    operations,
    runner,
    uploads: createUploadReceiver({
      ...{ db, clock, files: uploads, node: config.node },
      ...(isShared && !hasSharedFiles ? { elsewhere } : {}),
    }),
    secrets: createSecretEntry({ db, clock, runner }),
    decisionLinks: createDecisionLinks({ db, clock, runner, secrets: platform.secrets }),
    ...(isShared ? { peer } : {}),
    readiness: () => readinessOf(platform, started),
    ...(isShared ? { sharing: () => sharingOf(membership, clock) } : {}),
    async metricsText(known) {
      const store = config.databaseUrl ? 'postgresql' : 'sqlite'
      const queues = await db.read(queueLengths).catch(() => [])
      const environments = started.reconciler?.metricTargets() ?? []
      const identity = known ? ({ version: serverVersion, store } as const) : null
      const certificates = known ? await certificateDays(db, clock.wallMs()) : []
      const facts = { identity, startedMs, queues, certificates }
      return measuring.figures.text(measuring.ingress, environments, metrics.memoryBytes, facts)
    },
    mcp,
    chat,
    ...(oauth ? { oauth: { ...oauth.routes, grantOf: oauth.grantOf } } : {}),
    console: {
      dir: path.join(import.meta.dirname, 'console'),
      ...signIn,
      allowsLinks: isLoopback(config.host),
    },
    referenceDir: path.join(import.meta.dirname, 'reference'),
    spans: platform.spans ?? undefined,
    ...namesOf(config),
    trustedProxies: config.trustedProxies,
    log,
  })
}
