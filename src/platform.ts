import { rmSync } from 'node:fs'
import os from 'node:os'
import { buildContent } from './builds/build-content.ts'
import { createUploadStore, type UploadStore } from './builds/upload-store.ts'
import { type Clock, systemClock } from './clock.ts'
import type { Config } from './config.ts'
import { DatabaseOfferWatch } from './engines/database-offers.ts'
import { AppError } from './errors.ts'
import type { Log } from './log.ts'
import { MetricStore } from './metrics/metric-store.ts'
import { periodAt } from './metrics/sampler.ts'
import { createNotifier } from './notifiers/deliver.ts'
import type { Notifier } from './notifiers/notifier.ts'
import type { Builder } from './reconciler/ports.ts'
import { openRegions, type PlatformRegion } from './regions.ts'
import { BackupFiles } from './store/backup-files.ts'
import type { Db } from './store/db.ts'
import { firstStart } from './store/first-start.ts'
import { type Home, lockHome, openHome } from './store/home.ts'
import { LogStore } from './store/log-store.ts'
import { makeMasterKey, readMasterKey } from './store/master-key.ts'
import { openSecretBox, parseMasterKey, type RefreshingSecretBox } from './store/secret-box.ts'
import { openSqliteDb } from './store/sqlite-db.ts'

const buildTimeoutMs = 30 * 60_000

/** Every adapter of an installation, chosen from the configuration. Nothing is served yet. */
export interface Platform {
  config: Config
  clock: Clock
  log: Log
  home: Home
  installationId: string
  accountId: string
  db: Db
  secrets: RefreshingSecretBox
  logs: LogStore
  /** Measured values; `open` it before use. */
  metrics: MetricStore
  uploads: UploadStore
  backups: BackupFiles
  builder: Builder
  /** At least one, in the order of the configuration. */
  regions: readonly PlatformRegion[]
  notifier: Notifier
  databaseOffers: DatabaseOfferWatch
  nodeName: string
  close(): Promise<void>
}

/**
 * Opens store, keys, logs and engine: the only place that chooses adapters. Throws `AppError` saying what to
 * mend when the home is held or unwritable, or the engine is away.
 */
export async function openPlatform(config: Config, log: Log, command: readonly string[]): Promise<Platform> {
  if (config.databaseUrl) {
    throw new AppError('unavailable', 'PostgreSQL is not served by this version', {
      details: 'Leave LONGSHORE_DATABASE_URL out: the embedded store keeps everything in LONGSHORE_HOME.',
    })
  }
  const clock = systemClock
  const home = openHome(config.home)
  const unlock = lockHome(config.home)
  try {
    const now = new Date(clock.wallMs()).toISOString()
    const db = await openSqliteDb(home.database)
    const given = config.masterKey ? parseMasterKey(config.masterKey) : null
    if (!given) await makeMasterKey(db, home)
    // Read again for each data key that is made later: by then the home's master key may be another one.
    const secrets = await openSecretBox(db, () => given ?? readMasterKey(home.masterKey), now)
    const { installationId, accountId } = await firstStart(db, home, config.bootstrapToken, now)
    const nodeName = os.hostname()
    const regions = await openRegions({ config, db, installationId, nodeName, clock, log, command })
    const imageSource = config.databaseImages ?? null
    const databaseOffers = new DatabaseOfferWatch({ regions, imageSource, clock, log })
    // Looked at while the rest starts; nobody waits for a registry.
    void databaseOffers.refresh()
    // Builds that a crash cut off are begun anew; the home is locked, so these are nobody's.
    rmSync(home.builds, { recursive: true, force: true })
    const logs = new LogStore(home.logs)
    const metrics = new MetricStore({ dir: home.metrics, periodMs: periodAt(config.clockScale), log })
    const uploads = createUploadStore({ home: home.dir })
    return {
      config,
      clock,
      log,
      home,
      installationId,
      accountId,
      db,
      secrets,
      logs,
      metrics,
      uploads,
      backups: new BackupFiles(home.backups),
      builder: createBuilder(config, home, clock),
      regions,
      notifier: notifierOf(config, clock, log),
      databaseOffers,
      nodeName,
      async close() {
        await Promise.all(regions.map(({ engine }) => engine.close()))
        await logs.close()
        await db.close()
        unlock()
      },
    }
  } catch (error) {
    unlock()
    throw error
  }
}

function notifierOf(config: Config, clock: Clock, log: Log): Notifier {
  const { allowPrivateWebhooks: allowPrivate, incidentUrl, smtpUrl } = config
  return createNotifier({ clock, log, allowPrivate, incidentUrl, smtpUrl })
}

function createBuilder({ gitBaseUrl, nodeImage }: Config, home: Home, clock: Clock): Builder {
  return (request) =>
    buildContent({
      ...request,
      gitBaseUrl,
      nodeImage,
      buildsDir: home.builds,
      timeoutMs: buildTimeoutMs,
      clock,
    })
}
