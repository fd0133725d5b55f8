import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type Alerting, createAlerting } from '../../src/alerting/alerting.ts'
import { createApiServer } from '../../src/api/server.ts'
import { buildContent } from '../../src/builds/build-content.ts'
import { createUploadStore } from '../../src/builds/upload-store.ts'
import { type Client, createClient } from '../../src/client/client.ts'
import { type Clock, systemClock, timestamp } from '../../src/clock.ts'
import { type AccountSettings, accountSettings } from '../../src/contract/accounts.ts'
import { createAppEnv } from '../../src/contract/app-envs.ts'
import { createApp } from '../../src/contract/apps.ts'
import { operations } from '../../src/contract/index.ts'
import { apiPrefix } from '../../src/contract/operation.ts'
import { hostsOf } from '../../src/domain/hosts.ts'
import { newId } from '../../src/domain/ids.ts'
import { newToken, tokenHash } from '../../src/domain/tokens.ts'
import { DatabaseOfferWatch } from '../../src/engines/database-offers.ts'
import type { Route } from '../../src/gateway/gateway-link.ts'
import { HttpProber } from '../../src/gateway/http-prober.ts'
import { createLog, type Log, Secret } from '../../src/log.ts'
import type { MeasuredValues } from '../../src/metrics/metric-source.ts'
import { MetricStore } from '../../src/metrics/metric-store.ts'
import { createNotifier } from '../../src/notifiers/deliver.ts'
import type { Notifier } from '../../src/notifiers/notifier.ts'

import type { Installation } from '../../src/operations/handler.ts'
import { handlers } from '../../src/operations/index.ts'
import type { RateLimits } from '../../src/operations/rate-limit.ts'
import { createRunner } from '../../src/operations/runner.ts'
import { createUploadReceiver } from '../../src/operations/upload-receiver.ts'
import type { RouteSink } from '../../src/reconciler/ports.ts'
import { Reconciler } from '../../src/reconciler/reconciler.ts'
import { insertAccount, insertMembership } from '../../src/store/accounts.ts'
import { BackupFiles } from '../../src/store/backup-files.ts'
import type { Db } from '../../src/store/db.ts'
import { LogStore } from '../../src/store/log-store.ts'
import { countRunningPods } from '../../src/store/rollouts.ts'
import { openSecretBox, parseMasterKey, type SecretBox } from '../../src/store/secret-box.ts'
import { openSqliteDb } from '../../src/store/sqlite-db.ts'
import { insertToken } from '../../src/store/tokens.ts'
import { insertUser } from '../../src/store/users.ts'
import { FakeEngine } from '../fakes/fake-engine.ts'

export interface TestPlatformOptions {
  clock?: Clock
  engine?: FakeEngine
  log?: Log
  /** False leaves wishes as they are: no loop runs, no container starts. */
  reconciles?: boolean
  /** What alerts see; without it, what the platform measures. */
  metrics?: MeasuredValues
  /** How much a principal may ask; what serves uses when left out. */
  rateLimits?: RateLimits
  /** Where a gateway listens, for probes. */
  ingress?: { host: string; port: number }
  /** How notices leave; without one they really go out, to local receivers too. */
  notifier?: Notifier
  clockScale?: number
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
  // biome-ignore lint/suspicious/noExplicitAny: each test knows the shape it asks for
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
 * The control plane in this process: SQLite in a temporary folder, runner, REST on a free port, reconciler with
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
  reconciler: Reconciler | null = null
  alerting!: Alerting
  #databaseOffers: DatabaseOfferWatch | null = null
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
  ) {
    this.plainEngine = new FakeEngine({ clock })
    this.metrics = new MetricStore({ dir: path.join(dir, 'metrics'), periodMs: 10_000, log })
  }

  static async start(options: TestPlatformOptions = {}): Promise<TestPlatform> {
    const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-platform-'))
    const clock = options.clock ?? systemClock
    const db = await openSqliteDb(path.join(dir, 'longshore.db'))
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

  /** A user with a membership; an ordinary member of the main account unless told otherwise. */
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
    const apiUrl = () => this.apiUrl
    this.alerting = createAlerting({ db, clock, log, secrets, metrics, notifier, clockScale, apiUrl })
    this.#closers.push(() => this.alerting.stop())
    const uploads = createUploadStore({ home: this.dir })
    this.#databaseOffers = new DatabaseOfferWatch({
      regions: [{ region: this.region, engine }],
      imageSource: null,
      clock,
      log,
    })
    await this.#databaseOffers.refresh()
    const runner = createRunner({
      db,
      clock,
      secrets,
      logs,
      metrics,
      notices: this.alerting.notices,
      prober: new HttpProber({
        clock,
        // Nothing listens on the discard port: a probe of a platform without a gateway fails at once.
        ingress: () => options.ingress ?? { host: '127.0.0.1', port: 9 },
        running: (appEnvId) => db.read((tx) => countRunningPods(tx, appEnvId)),
      }),
      installation: this.#installation(clockScale),
      handlers,
      wake: (appEnvIds) => this.reconciler?.wake(appEnvIds),
      ...(options.rateLimits ? { rateLimits: options.rateLimits } : {}),
    })
    const api = createApiServer({
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
      engines: new Map([
        [this.region, engine],
        ['plain', this.plainEngine],
      ]),
      nodeName: 'test-node',
      clockScale: options.clockScale ?? 1,
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
    return {
      regions: () => [
        { region: this.region, name: 'Here', functionDomain: 'fn.localhost', engine: this.engine.kind },
        { region: 'plain', name: 'Without functions', functionDomain: null, engine: this.engine.kind },
      ],
      apiUrl: () => this.apiUrl,
      hosts: (environment, app, secrets) =>
        hostsOf(environment, app, secrets, { isolates: false, gatewayPort: 4480 }),
      databaseOffers: (name) => this.#databaseOffers?.current(name) ?? new Map(),
      databaseImageSource: null,
      defaultAccountSettings: accountSettings.parse({}),
      clockScale,
    }
  }
}
