import { getAppEnvStatus } from '../../src/contract/app-env-reads.ts'
import { createAppEnv, deleteAppEnv } from '../../src/contract/app-envs.ts'
import { createApp } from '../../src/contract/apps.ts'
import { deployAppEnvImage } from '../../src/contract/deployments.ts'
import { BackupFiles } from '../../src/files/backup-files.ts'
import { FolderFiles } from '../../src/files/folder.ts'
import { ClusterCache } from '../../src/regions/kubernetes/cache.ts'
import { ClusterDatabases } from '../../src/regions/kubernetes/databases/engine.ts'
import { ClusterEngine } from '../../src/regions/kubernetes/engine.ts'
import { ClusterJobs } from '../../src/regions/kubernetes/jobs/engine.ts'
import { namespaceOf } from '../../src/regions/kubernetes/manifests/workload.ts'
import { ClusterRegion } from '../../src/regions/kubernetes/region.ts'
import { ClusterVolumes } from '../../src/regions/kubernetes/volume-copies.ts'
import { SettledClock } from '../platform/settled-clock.ts'
import { TestPlatform } from '../platform/test-platform.ts'
import { FakeCluster } from './fake-cluster.ts'
import { runDeployments } from './fake-deployments.ts'

const installationId = 'ins_test'
const options = { namespacePrefix: 'ls-', appDomain: 'app.example.com' }

/** A platform whose region is a cluster region with a fake cluster. */
export class RegionFixture {
  readonly cluster = new FakeCluster()
  readonly time = new SettledClock()
  platform!: TestPlatform
  #region: ClusterRegion | null = null
  #appId = ''

  async open(): Promise<void> {
    const { clock, wrapDb } = this.time
    this.platform = await TestPlatform.start({ clock, wrapDb, reconciles: false })
    this.time.drive(this.platform)
    runDeployments(this.cluster)
    const { accountId, admin } = this.platform
    const app = { name: 'shop', accountId, port: 8080, useImage: true }
    this.#appId = (await admin.client.call(createApp, app)).appId
  }

  async close(): Promise<void> {
    await this.stop()
    await this.platform.close()
  }

  /** A control plane takes the region over. */
  async start(): Promise<void> {
    const { db, clock, log, logs, secrets, dir } = this.platform
    const { client } = this.cluster
    const cache = new ClusterCache({
      ...{ clock, installationId, namespacePrefix: options.namespacePrefix },
      server: () => client.config,
    })
    const jobs = new ClusterJobs({
      ...{ cluster: client, clock, installationId, cache },
      namespaceOf: (accountId) => namespaceOf(options, accountId),
      claimOf: (_appEnvId, volume) => volume,
    })
    const imageProblem = async () => null
    const engine = new ClusterEngine({
      ...{ client, jobs, log, build: null },
      databases: new ClusterDatabases({ client, installationId, podSecurity: undefined, imageProblem }),
      volumes: new ClusterVolumes({ client, clock, installationId, options }),
      wants: { buildProblem: async () => null },
    })
    await engine.open()
    this.#region = new ClusterRegion({
      ...{ db, clock, log, logs, secrets, client, cache, engine, installationId, options },
      ...{ region: this.platform.region, nodeName: 'test-node', clockScale: 1 },
      builder: () => Promise.reject(new Error('no builds here')),
      uploads: { fetch: async () => null },
      backups: new BackupFiles(new FolderFiles(dir), dir),
    } as ConstructorParameters<typeof ClusterRegion>[0])
    this.#region.start()
  }

  async stop(): Promise<void> {
    await this.#region?.stop()
    this.#region = null
  }

  /** `shop-prod`, deployed from the image. */
  async create(image: string, settings: { useVolume?: boolean } = { useVolume: true }): Promise<string> {
    const { accountId, admin, region } = this.platform
    const named = { accountId, appId: this.#appId, name: 'prod', cliEnvName: 'shop-prod', region }
    const envVars = [{ name: 'COLOR', value: 'red', type: 'DEPLOY' as const, isSecret: false }]
    const { appEnvId } = await admin.client.call(createAppEnv, { ...named, ...settings, envVars })
    await admin.client.call(deployAppEnvImage, { appEnvId, image })
    this.#region?.wake([appEnvId])
    return appEnvId
  }

  async delete(appEnvId: string): Promise<void> {
    await this.platform.admin.client.call(deleteAppEnv, { appEnvId })
    this.#region?.wake([appEnvId])
  }

  async deployment(appEnvId: string) {
    const status = await this.platform.admin.client.call(getAppEnvStatus, { appEnvId })
    return status.currentDeployment?.status ?? null
  }

  async untilDeployment(appEnvId: string, status: string): Promise<void> {
    await this.time.passed(async () => (await this.deployment(appEnvId)) === status, `a version ${status}`)
  }

  /** The objects of an environment. */
  objectsOf(appEnvId: string): string[] {
    return this.cluster.names(`longshore.dev/environment=${appEnvId}`)
  }
}
