import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { buildContent } from '../../src/builds/build-content.ts'
import type { Clock } from '../../src/clock.ts'
import { BackupFiles } from '../../src/files/backup-files.ts'
import { FolderFiles } from '../../src/files/folder.ts'
import type { LogStore } from '../../src/files/log-store.ts'
import type { UploadStore } from '../../src/files/upload-store.ts'
import type { Log } from '../../src/log.ts'
import type { MetricStore } from '../../src/metrics/store.ts'
import { Reconciler } from '../../src/regions/machine/reconciler.ts'
import type { Db } from '../../src/store/db.ts'
import type { SecretBox } from '../../src/store/secrets/secret-box.ts'
import type { FakeEngine } from '../fakes/engine.ts'
import type { TestPlatformOptions } from './options.ts'
import type { RecordedRoutes } from './recorded-routes.ts'

interface PlatformOfReconciler {
  dir: string
  clock: Clock
  db: Db
  secrets: SecretBox
  logs: LogStore
  log: Log
  metrics: MetricStore
  region: string
  engine: FakeEngine
  plainEngine: FakeEngine
  gitBaseUrl: string
  routes: RecordedRoutes
  options: TestPlatformOptions
}

/** A reconciler of the platform's engines, not started. */
export function createTestReconciler(platform: PlatformOfReconciler, uploads: UploadStore): Reconciler {
  const { db, clock, secrets, logs, log, engine, routes, options } = platform
  const builds = path.join(platform.dir, 'builds')
  mkdirSync(builds, { recursive: true })
  const reconciler = new Reconciler({
    db,
    clock,
    log,
    logs,
    secrets,
    uploads,
    backups: new BackupFiles(new FolderFiles(platform.dir), builds),
    metrics: platform.metrics,
    routes,
    engines:
      options.engines ??
      new Map([
        [platform.region, engine],
        ['plain', platform.plainEngine],
      ]),
    nodeName: 'test-node',
    clockScale: options.clockScale ?? 1,
    stabilityScale: options.stabilityScale ?? Number.POSITIVE_INFINITY,
    ...(options.keptVersions !== undefined && { keptVersions: options.keptVersions }),
    bootTime: () => ({ clock: 'test', ms: clock.monotonicMs() }),
    builder: (request) =>
      buildContent({
        ...request,
        gitBaseUrl: platform.gitBaseUrl,
        nodeImage: options.nodeImage ?? 'node:20-alpine',
        buildsDir: builds,
        timeoutMs: 600_000,
        clock,
      }),
  })
  routes.onDraining = (appEnvId, container) => reconciler.drained(appEnvId, container)
  return reconciler
}
