import { mkdtempSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type Alerting, createAlerting } from '../../src/alerting/alerting.ts'
import { createNotifier } from '../../src/alerting/notifiers/deliver.ts'
import { createMailer } from '../../src/alerting/notifiers/email.ts'
import { createApiServer } from '../../src/api/server.ts'
import type { Chat } from '../../src/chat/open.ts'
import { type Client, createClient } from '../../src/client/client.ts'
import { type Clock, systemClock, timestamp } from '../../src/clock.ts'
import type { AccountSettings } from '../../src/contract/accounts.ts'
import { createAppEnv } from '../../src/contract/app-envs.ts'
import { createApp } from '../../src/contract/apps.ts'
import { operations } from '../../src/contract/index.ts'
import { newToken, tokenHash } from '../../src/domain/access/tokens.ts'
import { DatabaseAvailabilityWatch } from '../../src/engines/database-availability.ts'
import type { Engine } from '../../src/engines/engine.ts'
import { FolderFiles } from '../../src/files/folder.ts'
import { LogStore } from '../../src/files/log-store.ts'
import { createUploadStore, type UploadStore } from '../../src/files/upload-store.ts'
import { HttpProber } from '../../src/gateway/control/prober.ts'
import { createLog, type Log, Secret } from '../../src/log.ts'
import { MetricStore } from '../../src/metrics/store.ts'
import type { ConsoleSessions } from '../../src/operations/access/console-sessions.ts'
import { createSecretEntry } from '../../src/operations/access/secret-entry.ts'
import { TokenMail } from '../../src/operations/access/token-mail.ts'
import { TokenUses } from '../../src/operations/access/token-uses.ts'
import { createDecisionLinks } from '../../src/operations/approvals/decision-links.ts'
import { isUndoable } from '../../src/operations/audit/undo-handlers.ts'
import { createRunner } from '../../src/operations/core/runner.ts'
import { createUploadReceiver } from '../../src/operations/deployments/upload-receiver.ts'
import { describeEnvironment } from '../../src/operations/diagnosis/describe-environment.ts'
import { handlers } from '../../src/operations/index.ts'
import type { RemediationWorker } from '../../src/operations/remediation/runs/worker.ts'
import type { Reconciler } from '../../src/regions/machine/reconciler.ts'
import { openSignIn } from '../../src/server/sign-in.ts'
import type { Db } from '../../src/store/db.ts'
import { countRunningPods } from '../../src/store/repositories/rollouts.ts'
import { insertToken } from '../../src/store/repositories/tokens.ts'
import { openSecretBox, parseMasterKey, type SecretBox } from '../../src/store/secrets/secret-box.ts'
import { FakeEngine } from '../fakes/engine.ts'
import { withTraffic } from '../metrics/with-traffic.ts'
import { openRemediations } from '../remediation/open.ts'
import { removeFolder } from '../remove-folder.ts'
import { openTestStore } from '../store/test-store.ts'
import { insertMember, insertTestAccount, type MemberOptions } from './accounts.ts'
import { oauthSurfaces } from './oauth-surfaces.ts'
import { signInOptionsOf, type TestPlatformOptions } from './options.ts'
import { type RawAnswer, type RawRequest, rawRequest } from './raw-request.ts'
import { createTestReconciler } from './reconciler.ts'
import { RecordedRoutes } from './recorded-routes.ts'
import { openTestChat } from './test-chat.ts'
import { testInstallation } from './test-installation.ts'

export interface TestUser {
  userId: string
  membershipId: string
  email: string
  token: string
  client: Client
}

/**
 * The control plane in this process: SQLite in a temporary folder (PostgreSQL with TEST_STORE=postgres), REST on a free
 * port, reconciler with the fake engine, a gateway that only remembers its routes.
 */
export class TestPlatform {
  readonly routes = new RecordedRoutes()
  /** Measured values: tests append samples, or have a `Sampler` take them. */
  readonly metrics: MetricStore
  readonly region = 'local'
  /** A second region, `plain`: it has no function domain, and containers of its own. */
  readonly plainEngine: FakeEngine
  apiUrl = ''
  gitBaseUrl = 'https://git.invalid'
  accountId = ''
  admin!: TestUser
  sessions!: ConsoleSessions
  runner!: ReturnType<typeof createRunner>
  readonly secondRunner = () => this.#runner(this.options)
  reconciler: Reconciler | null = null
  #newReconciler!: () => Reconciler
  alerting!: Alerting
  chat!: Chat
  remediations!: RemediationWorker
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
    const key = parseMasterKey(new Secret('11'.repeat(32)))
    const secrets = await openSecretBox(db, key, timestamp(clock.wallMs()))
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
    await db.write((tx) =>
      tx.insertInto('installation').values({ key: 'accountId', value: platform.accountId }).execute(),
    )
    platform.admin = await platform.makeUser({ admin: true, manageMembers: true })
    await platform.metrics.open(() => true)
    await platform.#serve(options)
    return platform
  }

  /** Another control plane takes over, with nothing of the first one's memory; `meanwhile` happens while none runs. */
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
    removeFolder(this.dir)
  }

  makeAccount(name: string, settings: Partial<AccountSettings> = {}): Promise<string> {
    return insertTestAccount(this.db, name, settings, this.now)
  }

  /** A user with a membership; by default an ordinary member of the main account. */
  async makeUser(options: MemberOptions = {}): Promise<TestUser> {
    this.#users += 1
    const email = `user-${this.#users}@example.com`
    const made = await insertMember(
      this.db,
      { accountId: this.accountId, email, name: `User ${this.#users}`, ...options },
      this.now,
    )
    return { ...made, email, client: this.client(made.token) }
  }

  async makeEnvironmentToken(appEnvId: string): Promise<string> {
    const [token, owner] = [newToken('environment'), { kind: 'environment', appEnvId } as const]
    await this.db.write((tx) => insertToken(tx, tokenHash(token), owner, this.now))
    return token
  }

  /** Reads again which databases the engines can run, which otherwise happens once a minute. */
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
  async request(method: string, pathname: string, options: RawRequest = {}): Promise<RawAnswer> {
    return await rawRequest(this.apiUrl, method, pathname, options)
  }

  get now(): string {
    return timestamp(this.clock.wallMs())
  }
  async #serve(options: TestPlatformOptions): Promise<void> {
    const { db, clock, secrets, log, engine } = this
    const metrics = options.metrics ?? this.metrics
    const clockScale = options.clockScale ?? 1
    const local = { allowPrivate: true, incidentUrl: 'http://127.0.0.1:9/', smtpUrl: undefined }
    const notifier = options.notifier ?? createNotifier({ clock, log, ...local })
    const publicUrl = () => options.publicUrl ?? this.apiUrl
    const own = { clock, describe: (id: string) => describeEnvironment(this.runner, id) }
    this.alerting = createAlerting({ db, log, secrets, metrics, notifier, clockScale, publicUrl, ...own })
    this.#closers.push(() => this.alerting.stop())
    const uploads = createUploadStore({ files: new FolderFiles(this.dir) })
    const engines = options.engines ?? new Map<string, Engine>([[this.region, engine]])
    const all = [...engines].map(([region, of]) => ({ region, engine: of }))
    this.#databaseAvailability = new DatabaseAvailabilityWatch({
      ...{ regions: all, imageSource: null, clock, log },
    })
    await this.#databaseAvailability.refresh()
    this.runner = this.#runner(options)
    this.chat = openTestChat(this, this.#closers)
    await this.#serveApi(uploads, options)
    this.remediations = openRemediations(this, options)
    this.#closers.push(() => this.remediations.stop())
    if (options.alerts) this.alerting.start()
    if (options.reconciles === false) return
    this.#newReconciler = () => createTestReconciler(this, uploads)
    await this.restartReconciler()
    this.#closers.push(() => this.reconciler?.stop())
  }

  /** As when the control plane restarts: a new reconciler finds the containers of the engines. */
  async restartReconciler(): Promise<void> {
    await this.reconciler?.stop()
    this.reconciler = this.#newReconciler()
    await this.reconciler.start()
  }

  #runner(options: TestPlatformOptions): ReturnType<typeof createRunner> {
    const { db, clock, secrets, logs } = this
    const tokenUses = new TokenUses({ db, clock, log: this.log })
    this.#closers.push(() => tokenUses.stop())
    return createRunner({
      ...{ db, clock, secrets },
      sources: {
        logs,
        metrics: options.metrics ? withTraffic(options.metrics, this.metrics) : this.metrics,
        prober: new HttpProber({
          clock,
          // The discard port is closed, so a probe of a platform without a gateway fails immediately.
          ingress: () => options.ingress ?? { host: '127.0.0.1', port: 9 },
          running: (appEnvId) => db.read((tx) => countRunningPods(tx, appEnvId)),
        }),
      },
      notifications: this.alerting.notifications,
      tokenUses,
      installation: testInstallation(this, () => this.#databaseAvailability, options),
      handlers,
      isUndoable,
      wake: (appEnvIds) => this.reconciler?.wake(appEnvIds),
      tokenMail: options.smtpUrl
        ? new TokenMail(createMailer({ url: options.smtpUrl, clock, deadlineMs: 10_000 }), clock)
        : null,
      rateLimits: options.rateLimits ?? { writes: null, reads: null, failures: null },
      node: 'test',
    })
  }

  async #serveApi(files: UploadStore, options: TestPlatformOptions): Promise<void> {
    const { db, clock, log, runner } = this
    const signIn = openSignIn({ ...this, ...signInOptionsOf(options) })
    this.sessions = signIn.sessions
    const console = options.consoleDir ? { dir: options.consoleDir, ...signIn, allowsLinks: true } : undefined
    const api = createApiServer({
      console,
      ...(options.oauth ? oauthSurfaces(this, runner, options.oauth) : {}),
      operations,
      runner,
      uploads: createUploadReceiver({ db, clock, files, node: 'test' }),
      secrets: createSecretEntry({ db, clock, runner }),
      chat: this.chat.receiver,
      decisionLinks: createDecisionLinks({ db, clock, runner, secrets: this.secrets }),
      readiness: async () => ({ ready: true, problems: [] }),
      metricsText: () => '',
      host: '127.0.0.1',
      log,
    })
    this.apiUrl = (await api.listen(0)).url
    this.admin = { ...this.admin, client: this.client(this.admin.token) }
    this.#closers.push(() => api.close())
  }
}
