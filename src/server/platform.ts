import { rmSync } from 'node:fs'
import { createNotifier } from '../alerting/notifiers/deliver.ts'
import type { Notifier } from '../alerting/notifiers/notifier.ts'
import { buildContent } from '../builds/build-content.ts'
import { type Clock, systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { DatabaseAvailabilityWatch } from '../engines/database-availability.ts'
import { BackupFiles } from '../files/backup-files.ts'
import type { Files } from '../files/files.ts'
import { LogArchive } from '../files/log-archive.ts'
import { LogStore } from '../files/log-store.ts'
import { openFiles } from '../files/open.ts'
import { createUploadStore, type UploadStore } from '../files/upload-store.ts'
import type { Log } from '../log.ts'
import { periodAt } from '../metrics/sampler.ts'
import type { MetricReader } from '../metrics/source.ts'
import { MetricStore } from '../metrics/store.ts'
import type { Builder } from '../regions/ports.ts'
import { type Home, lockHome, openHome } from '../store/data-directory.ts'
import type { Db } from '../store/db.ts'
import { DiskReserve, spendReserve } from '../store/disk-reserve.ts'
import { firstStart } from '../store/first-start.ts'
import type { Membership } from '../store/membership.ts'
import { joinStore } from '../store/open.ts'
import { makeMasterKey, readMasterKey } from '../store/secrets/master-key.ts'
import { openSecretBox, parseMasterKey, type RefreshingSecretBox } from '../store/secrets/secret-box.ts'
import type { SpanSink } from '../trace.ts'
import { CertificateMetrics } from './domains/metrics.ts'
import { RegionDirectory } from './regions/directory.ts'
import { regionMetrics } from './regions/metrics.ts'
import { openRegions } from './regions/open.ts'
import type { PlatformRegion } from './regions/region.ts'

const buildTimeoutMs = 30 * 60_000
/** For the last copies of logs; an unreachable archive does not delay the stop. */
export const stopCopyMs = 5_000

/** All adapters of an installation, chosen by the configuration. Does not serve yet. */
export interface Platform {
  config: Config
  clock: Clock
  log: Log
  home: Home
  installationId: string
  accountId: string
  db: Db
  reserve: DiskReserve
  /** Its place among the control planes that share the store. */
  membership: Membership
  secrets: RefreshingSecretBox
  logs: LogStore
  /** Metric samples of this machine; call `open` before use. */
  metrics: MetricStore
  /** Measurements of environments, wherever they are kept. */
  readings: MetricReader
  uploads: UploadStore
  files: Files
  /** Every control plane of the installation uses the same files. */
  hasSharedFiles: boolean
  backups: BackupFiles
  builder: Builder
  /** Those of this machine, in the order of the configuration. */
  regions: readonly PlatformRegion[]
  notifier: Notifier
  /** All regions, also those of other machines. */
  directory: RegionDirectory
  databaseAvailability: DatabaseAvailabilityWatch
  nodeName: string
  /** Takes spans for export; null unless an OTLP endpoint is set. */
  spans: SpanSink | null
  close(): Promise<void>
}

/**
 * Opens store, keys, logs and engine; the only place that chooses adapters. Throws `AppError` when the data directory is
 * locked or unwritable, the store cannot be used, or the engine is unavailable. Calls `onReplaced` when another control
 * plane has taken over this machine's name, so this one must stop.
 */
export async function openPlatform(
  config: Config,
  log: Log,
  command: readonly string[],
  onReplaced: (reason: string) => void,
): Promise<Platform> {
  const clock = systemClock
  // After a crash on a full disk, the reserve lets the platform start, read-only.
  const home = openHome(config.home, () => spendReserve(config.home))
  const unlock = lockHome(config.home)
  try {
    const { db, membership } = await joinStore(config, home, { clock, log, onReplaced })
    const opened = await openState({ config, clock, log, home, db, membership }, command).catch(
      async (error) => {
        await membership.close()
        await db.close()
        throw error
      },
    )
    // Interrupted builds start again from scratch. The data directory is locked, so no other process uses these files.
    rmSync(home.builds, { recursive: true, force: true })
    const logs = new LogStore(home.logs, { archive: opened.logArchive })
    // Loaded only when set: the libraries are large.
    const spans = config.exportsTraces
      ? (await import('./telemetry/export-traces.ts')).exportTraces(config.node, log)
      : null
    const { files } = opened
    const metrics = new MetricStore({ dir: home.metrics, periodMs: periodAt(config.clockScale), log })
    return {
      ...{ config, clock, log, home, db, membership, logs, metrics },
      reserve: new DiskReserve(config.home),
      readings: new CertificateMetrics(regionMetrics({ config, db, clock, metrics }), db),
      ...opened,
      uploads: createUploadStore({ files }),
      backups: new BackupFiles(files, home.builds),
      builder: createBuilder(config, home, clock),
      notifier: notifierOf(config, clock, log),
      nodeName: config.node,
      spans,
      async close() {
        await Promise.all(opened.regions.map(({ engine }) => engine.close()))
        await logs.close(stopCopyMs)
        await spans?.close()
        await membership.close()
        await db.close()
        unlock()
      },
    }
  } catch (error) {
    unlock()
    throw error
  }
}

/** Loads keys, the first account and regions from the store; everything else depends on them. */
async function openState(
  around: Pick<Platform, 'config' | 'clock' | 'log' | 'home' | 'db' | 'membership'>,
  command: readonly string[],
) {
  const { config, clock, log, home, db, membership } = around
  const now = new Date(clock.wallMs()).toISOString()
  const given = config.masterKey ? parseMasterKey(config.masterKey) : null
  if (!given) await makeMasterKey(db, home)
  // Read the master key again for each new data key, because it may have been rotated.
  const secrets = await openSecretBox(db, () => given ?? readMasterKey(home.masterKey), now)
  const installation = await firstStart(db, home, config.bootstrapToken, now)
  const { installationId } = installation
  const files = await openFiles(config.filesUrl, home.dir, installationId)
  const { node: nodeName } = config
  const { isShared } = membership
  const logArchive = files.hasSharedFiles
    ? await LogArchive.open(files.files, isShared ? nodeName : 'local')
    : null
  const regions = await openRegions({ config, db, installationId, nodeName, isShared, clock, log, command })
  const directory = new RegionDirectory(regions, nodeName, membership)
  const databaseAvailability = new DatabaseAvailabilityWatch({
    ...{ regions, clock, log },
    imageSource: config.databaseImages ?? null,
    others: () => directory.databases(),
  })
  // In the background, so that a slow registry does not delay the start.
  void databaseAvailability.refresh()
  return { ...installation, ...files, logArchive, secrets, regions, directory, databaseAvailability }
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
