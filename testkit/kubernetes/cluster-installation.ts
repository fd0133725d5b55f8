import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { randomText } from '../../src/domain/ids.ts'
import { Installation } from '../platform/installation.ts'
import { cluster, kubectl } from './cluster.ts'

interface ClusterRegionSetting {
  namespacePrefix: string
}

interface ClusterInstallationOptions {
  /** For the region, in place of the tests' own. */
  kubeconfig?: string
  /** Regions beside the cluster. */
  others?: readonly object[]
  /** More settings of the cluster in the regions file. */
  settings?: object
  /** The region of another control plane, which this one can run too. */
  region?: ClusterRegionSetting
}

/** Settings with which a region builds images and can read its registry. */
export const builderSettings = {
  registry: { push: cluster.registry, pull: cluster.registry, insecure: true },
  buildkit: cluster.buildkit,
}

/** An installation with the cluster of the tests as its region `eu`; its namespaces have a prefix of their own. */
export class ClusterInstallation extends Installation {
  readonly namespacePrefix: string
  readonly region: ClusterRegionSetting
  readonly #configDir: string

  constructor(env: NodeJS.ProcessEnv = {}, options: ClusterInstallationOptions = {}) {
    const configDir = mkdtempSync(path.join(os.tmpdir(), 'longshore-cluster-'))
    const file = path.join(configDir, 'longshore.yaml')
    const programs = [path.dirname(cluster.buildctl ?? '/usr/bin/buildctl'), process.env.PATH].join(':')
    super({ LONGSHORE_CONFIG: file, PATH: programs, ...env })
    const own = randomText(8)
      .toLowerCase()
      .replaceAll(/[^a-z0-9]/g, 'x')
    this.region =
      options.region ??
      ({
        name: 'eu',
        engine: 'kubernetes',
        kubeconfig: options.kubeconfig ?? cluster.kubeconfig,
        namespacePrefix: `lst${own}-`,
        appDomain: `${own}.${cluster.domain}`,
        functionDomain: cluster.domain,
        publicPort: Number(new URL(cluster.ingress!).port || 80),
        ingressClass: 'traefik',
        ...options.settings,
      } as ClusterRegionSetting)
    this.namespacePrefix = this.region.namespacePrefix
    // JSON is YAML too.
    writeFileSync(file, JSON.stringify({ regions: [...(options.others ?? []), this.region] }))
    this.#configDir = configDir
  }

  /** One request through the ingress of the cluster, or the gateway for a host of this machine. */
  override request(host: string, pathname = '/'): Promise<{ status: number; body: string }> {
    if (host.endsWith('.localhost')) return super.request(host, pathname)
    const { hostname, port } = new URL(cluster.ingress!)
    return new Promise((resolve, reject) => {
      const request = http.get({ hostname, port, path: pathname, headers: { host } }, (answer) => {
        let body = ''
        answer.setEncoding('utf8').on('data', (text: string) => {
          body += text
        })
        answer.once('end', () => resolve({ status: answer.statusCode ?? 0, body: body.trim() }))
        answer.once('error', reject)
      })
      request.once('error', reject)
    })
  }

  /** The names of the namespaces that it made. */
  async namespaces(): Promise<string[]> {
    const all = (await kubectl(['get', 'namespaces', '-o', 'name'])).split('\n')
    return all.flatMap((name) => {
      const short = name.replace('namespace/', '')
      return short.startsWith(this.namespacePrefix) ? [short] : []
    })
  }

  override async dispose(): Promise<void> {
    await super.dispose()
    rmSync(this.#configDir, { recursive: true, force: true })
    for (const name of await this.namespaces()) await kubectl(['delete', 'namespace', name, '--wait=false'])
  }
}
