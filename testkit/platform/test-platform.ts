import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type Alerting, createAlerting } from '../../src/alerting/alerting.ts'
import { createNotifier } from '../../src/alerting/notifiers/deliver.ts'
import { createMailer } from '../../src/alerting/notifiers/email.ts'
import type { Notifier } from '../../src/alerting/notifiers/notifier.ts'
import { createApiServer } from '../../src/api/server.ts'
import { buildContent } from '../../src/builds/build-content.ts'
import { type Client, createClient } from '../../src/client/client.ts'
import { type Clock, systemClock, timestamp } from '../../src/clock.ts'
import { type AccountSettings, accountSettings } from '../../src/contract/accounts.ts'
import { createAppEnv } from '../../src/contract/app-envs.ts'
import { createApp } from '../../src/contract/apps.ts'
import { operations } from '../../src/contract/index.ts'
import { apiPrefix } from '../../src/contract/operation.ts'
import { newToken, tokenHash } from '../../src/domain/access/tokens.ts'
import { hostsOf } from '../../src/domain/environments/hosts.ts'
import { newId } from '../../src/domain/ids.ts'
import { DatabaseAvailabilityWatch } from '../../src/engines/database-availability.ts'
import type { Engine } from '../../src/engines/engine.ts'
import { BackupFiles } from '../../src/files/backup-files.ts'
import { LogStore } from '../../src/files/log-store.ts'
import { createUploadStore } from '../../src/files/upload-store.ts'
import { HttpProber } from '../../src/gateway/control/prober.ts'
import type { Route } from '../../src/gateway/control/protocol.ts'
import { createLog, type Log, Secret } from '../../src/log.ts'
import type { MetricValues } from '../../src/metrics/source.ts'
import { MetricStore } from '../../src/metrics/store.ts'
import { type ConsoleSessions, createConsoleSessions } from '../../src/operations/access/console-sessions.ts'
import { TokenMail } from '../../src/operations/access/token-mail.ts'
import type { Installation } from '../../src/operations/core/handler.ts'
import { noRateLimits, type RateLimits } from '../../src/operations/core/rate-limit.ts'
import { createRunner } from '../../src/operations/core/runner.ts'
import { createUploadReceiver } from '../../src/operations/deployments/upload-receiver.ts'
import { handlers } from '../../src/operations/index.ts'
import type { RouteSink } from '../../src/regions/machine/ports.ts'
import { Reconciler } from '../../src/regions/machine/reconciler.ts'
import type { Db } from '../../src/store/db.ts'
import { insertAccount, insertMembership } from '../../src/store/repositories/accounts.ts'
import { countRunningPods } from '../../src/store/repositories/rollouts.ts'
import { insertToken } from '../../src/store/repositories/tokens.ts'
import { insertUser } from '../../src/store/repositories/users.ts'
import { openSecretBox, parseMasterKey, type SecretBox } from '../../src/store/secrets/secret-box.ts'
import { FakeEngine } from '../fakes/engine.ts'
import { openTestStore } from '../store/test-store.ts'

export interface TestPlatformOptions {
  clock?: Clock
  engine?: FakeEngine
  log?: Log
  /** False runs no reconciler, so no container starts. */
  reconciles?: boolean
  /** Metric source of alerts; default: the platform's own samples. */
  metrics?: MetricValues
  /** Rate limits of principals; default: no limits. */
  rateLimits?: RateLimits
  /** Address of a gateway, for probes. */
  ingress?: { host: string; port: number }
  /** Mails tokens of new users; without it they are returned. */
  smtpUrl?: string
  /** Delivery of notifications; default: real delivery, also to local receivers. */
  notifier?: Notifier
  clockScale?: number
  /** Divides the stability window of deployments; default: there is none. */
  stabilityScale?: number
  /** Deployed versions whose images stay (LONGSHORE_KEPT_VERSIONS). */
  keptVersions?: number
  /** Folder with the built console; without one it is not served. */
  consoleDir?: string
  /** By region, in place of the fake ones. */
  engines?: ReadonlyMap<string, Engine>
  /** Replaces the platform's store. */
  wrapDb?: (db: Db) => Db
  /** True starts evaluator and outbox; else a test calls `alerting.evaluator.cycle()`. */
  alerts?: boolean
}

export interface TestUser {
  userId: string
  membershipId: string
  email: string
  token: string
  client: Client
}

export interface RawAnswer {
  status: number
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: each test knows the shape it reads
  json: any
  headers: Headers
}

/** A gateway that only remembers: routes by environment, and every container that is to drain is drained at once. */
class RememberedRoutes implements RouteSink {
  readonly routes = new Map<string, Route>()
  readonly startFailures: { appEnvId: string; message: string }[] = []
  onDraining: (appEnvId: string, container: string) => void = () => {}

  setRoutes(routes: Route[]): void {
    this.routes.clear()
    for (const route of routes) this.setRoute(route)
  }
  setRoute(route: Route): void {
    this.routes.set(route.appEnvId, route)
    for (const { name, draining } of route.containers) {
      if (draining) setImmediate(() => this.onDraining(route.appEnvId, name))
    }
  }
  dropRoute(appEnvId: string): void {
    this.routes.delete(appEnvId)
  }
  startFailed(appEnvId: string, message: string): void {
    this.startFailures.push({ appEnvId, message })
  }
}

/**
 * The control plane in this process: SQLite in a temporary folder (PostgreSQL with TEST_STORE=postgres), runner, REST on a free port, reconciler with
 * the fake engine, a gateway that only remembers its routes. One account, `admin` its admin.
 */
export class TestPlatform {
  readonly routes = new RememberedRoutes()
  /** Measured values: tests append samples, or have a `Sampler` take them. */
  readonly metrics: MetricStore
  readonly region = 'local'
  /** A second region, `plain`: it has no function domain, and containers of its own. */
  readonly plainEngine: FakeEngine
  apiUrl = ''
  /** Where apps with a Git host have their repositories. */
  gitBaseUrl = 'https://git.invalid'
  accountId = ''
  admin!: TestUser
  sessions!: ConsoleSessions
  reconciler: Reconciler | null = null
  alerting!: Alerting
  #databaseAvailability: DatabaseAvailabilityWatch | null = null
  #users = 0
  #names = 0
  readonly #closers: (() => unknown)[] = []

  private constructor(
    readonly dir: string,
    readonly clock: Clock,
    readonly db: Db,
    readonly secrets: SecretBox,
    readonly logs: LogStore,
    readonly engine: FakeEngine,
    readonly log: Log,
    readonly options: TestPlatformOptions,
    private readonly removeStore: () => Promise<void>,
  ) {
    this.plainEngine = new FakeEngine({ clock })
    this.metrics = new MetricStore({ dir: path.join(dir, 'metrics'), periodMs: 10_000, log })
  }

  static async start(options: TestPlatformOptions = {}): Promise<TestPlatform> {
    const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-platform-'))
    const clock = options.clock ?? systemClock
    const { db: opened, remove } = await openTestStore(dir)
    const db = options.wrapDb?.(opened) ?? opened
    const masterKey = parseMasterKey(new Secret('11'.repeat(32)))
    const secrets = await openSecretBox(db, masterKey, timestamp(clock.wallMs()))
    const platform = new TestPlatform(
      dir,
      clock,
      db,
      secrets,
      new LogStore(path.join(dir, 'logs')),
      options.engine ?? new FakeEngine({ clock }),
      options.log ?? createLog('test', 'silent'),
      options,
      remove,
    )
    platform.accountId = await platform.makeAccount('Main')
    platform.admin = await platform.makeUser({ admin: true, manageMembers: true })
    await platform.metrics.open(() => true)
    await platform.#serve(options)
    return platform
  }

  /**
   * Another control plane takes over store, containers and gateway, with nothing of the first one's memory;
   * `meanwhile` happens while none runs.
   */
  async restart(meanwhile?: () => Promise<unknown>): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close()
    await meanwhile?.()
    await this.#serve(this.options)
  }

  async close(): Promise<void> {
    for (const close of this.#closers.reverse()) await close()
    this.engine.host.clear()
    this.plainEngine.host.clear()
    await this.logs.close()
    await this.db.close()
    await this.removeStore()
    rmSync(this.dir, { recursive: true, force: true })
  }

  async makeAccount(name: string, settings: Partial<AccountSettings> = {}): Promise<string> {
    const accountId = newId('acc')
    await this.db.write((tx) =>
      insertAccount(tx, {
        accountId,
        name,
        slug: name.toLowerCase(),
        settings: accountSettings.parse(settings),
        revision: 1,
        createdAt: this.now,
      }),
    )
    return accountId
  }

  /** A user with a membership; by default an ordinary member of the main account. */
  async makeUser(
    options: {
      accountId?: string
      admin?: boolean
      manageMembers?: boolean
      allowedAppEnvIds?: string[]
    } = {},
  ): Promise<TestUser> {
    this.#users += 1
    const email = `user-${this.#users}@example.com`
    const membershipId = newId('mem')
    const token = newToken('user')
    const userId = await this.db.write(async (tx) => {
      const id = await insertUser(tx, { email, name: `User ${this.#users}`, createdAt: this.now })
      await insertMembership(
        tx,
        {
          membershipId,
          accountId: options.accountId ?? this.accountId,
          userId: id,
          admin: options.admin ?? false,
          manageMembers: options.manageMembers ?? false,
          allowedAppEnvIds: options.allowedAppEnvIds ?? [],
          revision: 1,
          invitation: null,
        },
        this.now,
      )
      await insertToken(tx, tokenHash(token), { kind: 'user', userId: id }, this.now)
      return id
    })
    return { userId, membershipId, email, token, client: this.client(token) }
  }

  async makeEnvironmentToken(appEnvId: string): Promise<string> {
    const token = newToken('environment')
    await this.db.write((tx) =>
      insertToken(tx, tokenHash(token), { kind: 'environment', appEnvId }, this.now),
    )
    return token
  }

  /** Reads again what the engines can run of the databases, which is otherwise done once a minute. */
  async refreshDatabaseOffers(): Promise<void> {
    await this.#databaseAvailability?.refresh()
  }

  /** An app and an environment of it, made through the API as `by`, not deployed. */
  async makeEnvironment(
    options: {
      by?: Client
      accountId?: string
      app?: Record<string, unknown>
      appId?: string
      environment?: Record<string, unknown>
    } = {},
  ): Promise<{ appId: string; appEnvId: string }> {
    const by = options.by ?? this.admin.client
    const accountId = options.accountId ?? this.accountId
    this.#names += 1
    const app = { name: `app ${this.#names}`, accountId, dockerPreset: 'CUSTOM', ...options.app }
    const port = app.dockerPreset === 'CUSTOM' || app.dockerPreset === 'FUNCTION' ? { port: 8080 } : {}
    const appId = options.appId ?? (await by.call(createApp, { ...port, ...app })).appId
    const environment = { accountId, appId, name: 'prod', region: this.region, ...options.environment }
    const { appEnvId } = await by.call(createAppEnv, environment)
    return { appId, appEnvId }
  }

  client(token: string | null): Client {
    return createClient({ url: this.apiUrl, token, surface: 'cli' })
  }

  /** One request as it is: for statuses, bytes and headers. GET and DELETE send `input` as the query. */
  async request(
    method: string,
    pathname: string,
    options: {
      token?: string | null
      input?: Record<string, unknown>
      headers?: Record<string, string>
    } = {},
  ): Promise<RawAnswer> {
    const inQuery = method === 'GET' || method === 'DELETE'
    const query = new URLSearchParams()
    if (inQuery)
      for (const [name, value] of Object.entries(options.input ?? {})) query.set(name, String(value))
    const headers: Record<string, string> = { ...options.headers }
    if (options.token) headers.authorization = options.token
    if (!inQuery) headers['content-type'] = 'application/json'
    const url = `${this.apiUrl}${apiPrefix}${pathname}${inQuery ? `?${query}` : ''}`
    const answer = await fetch(url, {
      method,
      headers,
      ...(inQuery ? {} : { body: JSON.stringify(options.input ?? {}) }),
    })
    const text = await answer.text()
    return {
      status: answer.status,
      text,
      json: text === '' ? null : JSON.parse(text),
      headers: answer.headers,
    }
  }

  get now(): string {
    return timestamp(this.clock.wallMs())
  }

  async #serve(options: TestPlatformOptions): Promise<void> {
    const { db, clock, secrets, logs, log, engine, routes } = this
    const metrics = options.metrics ?? this.metrics
    const clockScale = options.clockScale ?? 1
    const notifier =
      options.notifier ??
      createNotifier({
        clock,
        log,
        allowPrivate: true,
        incidentUrl: 'http://127.0.0.1:9/',
        smtpUrl: undefined,
      })
    const publicUrl = () => this.apiUrl
    this.alerting = createAlerting({ db, clock, log, secrets, metrics, notifier, clockScale, publicUrl })
    this.#closers.push(() => this.alerting.stop())
    const uploads = createUploadStore({ home: this.dir })
    this.#databaseAvailability = new DatabaseAvailabilityWatch({
      regions: [...(options.engines ?? new Map<string, Engine>([[this.region, engine]]))].map(
        ([region, of]) => ({ region, engine: of }),
      ),
      imageSource: null,
      clock,
      log,
    })
    await this.#databaseAvailability.refresh()
    const runner = createRunner({
      db,
      clock,
      secrets,
      logs,
      metrics,
      notifications: this.alerting.notifications,
      prober: new HttpProber({
        clock,
        // The discard port is closed, so a probe of a platform without a gateway fails immediately.
        ingress: () => options.ingress ?? { host: '127.0.0.1', port: 9 },
        running: (appEnvId) => db.read((tx) => countRunningPods(tx, appEnvId)),
      }),
      installation: this.#installation(clockScale),
      handlers,
      wake: (appEnvIds) => this.reconciler?.wake(appEnvIds),
      tokenMail: options.smtpUrl
        ? new TokenMail(createMailer({ url: options.smtpUrl, clock, deadlineMs: 10_000 }), clock)
        : null,
      rateLimits: options.rateLimits ?? noRateLimits,
    })
    this.sessions = createConsoleSessions({ db, clock })
    const console = options.consoleDir
      ? { dir: options.consoleDir, sessions: this.sessions, allowsLinks: true }
      : undefined
    const api = createApiServer({
      console,
      operations,
      runner,
      uploads: createUploadReceiver({ db, clock, files: uploads }),
      readiness: async () => ({ ready: true, problems: [] }),
      metricsText: () => '',
      host: '127.0.0.1',
      log,
    })
    this.apiUrl = (await api.listen(0)).url
    this.admin = { ...this.admin, client: this.client(this.admin.token) }
    this.#closers.push(() => api.close())
    if (options.alerts) this.alerting.start()
    if (options.reconciles === false) return
    const builds = path.join(this.dir, 'builds')
    mkdirSync(builds, { recursive: true })
    this.reconciler = new Reconciler({
      db,
      clock,
      log,
      logs,
      secrets,
      uploads,
      backups: new BackupFiles(path.join(this.dir, 'backups')),
      metrics: this.metrics,
      routes,
      engines:
        options.engines ??
        new Map([
          [this.region, engine],
          ['plain', this.plainEngine],
        ]),
      nodeName: 'test-node',
      clockScale: options.clockScale ?? 1,
      stabilityScale: options.stabilityScale ?? Number.POSITIVE_INFINITY,
      ...(options.keptVersions !== undefined && { keptVersions: options.keptVersions }),
      moment: () => ({ clock: 'test', ms: clock.monotonicMs() }),
      builder: (request) =>
        buildContent({
          ...request,
          gitBaseUrl: this.gitBaseUrl,
          nodeImage: 'node:20-alpine',
          buildsDir: builds,
          timeoutMs: 60_000,
          clock,
        }),
    })
    routes.onDraining = (appEnvId, container) => this.reconciler?.drained(appEnvId, container)
    await this.reconciler.start()
    this.#closers.push(() => this.reconciler?.stop())
  }

  #installation(clockScale: number): Installation {
    const here = { engine: this.engine.kind, isolation: { metadataBlocked: false } }
    return {
      regions: () => [
        { ...here, region: this.region, name: 'Here', functionDomain: 'fn.localhost' },
        { ...here, region: 'plain', name: 'Without functions', functionDomain: null },
      ],
      apiUrl: () => this.apiUrl,
      publicUrl: () => this.apiUrl,
      hosts: (environment, app, secrets) =>
        hostsOf(environment, app, secrets, { isolates: false, gatewayPort: 4480 }),
      engineProblem: (region) => this.reconciler?.engineProblem(region) ?? null,
      databaseAvailability: (name) => this.#databaseAvailability?.current(name) ?? new Map(),
      databaseImageSource: null,
      defaultAccountSettings: accountSettings.parse({}),
      clockScale,
    }
  }
}
