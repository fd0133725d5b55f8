import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { AppError } from '../../errors.ts'
import { imageEnv, imageFiles, imageLayer } from '../deploy/local-base-image.ts'

/** Where the demo runs on a cluster: its regions file, and the registry for its base image. */
export interface DemoCluster {
  configFile: string
  /** `host:port` of a registry without TLS; null: that of the given regions file. */
  registry: string | null
  /** Takes requests by their Host header; null: the names of functions resolve. */
  ingress: URL | null
  namespacePrefix: string | null
}

/** The variables that describe a cluster for trying Longshore out. */
const needed = ['KUBECONFIG', 'REGISTRY', 'INGRESS', 'DOMAIN', 'BUILDKIT_HOST'] as const

/** The cluster of `LONGSHORE_CONFIG`, or the one that the variables describe, for which a regions file is written. */
export async function demoCluster(env: NodeJS.ProcessEnv, dir: string): Promise<DemoCluster> {
  const ingress = env.INGRESS ? new URL(env.INGRESS) : null
  if (env.LONGSHORE_CONFIG)
    return { configFile: path.resolve(env.LONGSHORE_CONFIG), registry: null, ingress, namespacePrefix: null }
  const absent = needed.filter((name) => !env[name])
  if (absent.length > 0 || !ingress)
    throw new AppError('invalid', 'The demo does not know the cluster', {
      details: `Set LONGSHORE_CONFIG to a file with a cluster region that has functionDomain, registry and buildkit, or set ${absent.join(', ')}.`,
    })
  const own = createHash('sha256').update(dir).digest('hex').slice(0, 6)
  const namespacePrefix = `demo-${own}-`
  const region = {
    ...{ name: 'cluster', engine: 'kubernetes', kubeconfig: env.KUBECONFIG, namespacePrefix },
    ...{ appDomain: `app.${env.DOMAIN}`, functionDomain: env.DOMAIN },
    publicPort: Number(ingress.port || (ingress.protocol === 'https:' ? 443 : 80)),
    registry: { push: `${env.REGISTRY}/demo`, pull: `${env.REGISTRY}/demo`, insecure: true },
    buildkit: env.BUILDKIT_HOST,
    ...(env.PROMETHEUS ? { prometheus: env.PROMETHEUS } : {}),
  }
  const configFile = path.join(dir, 'regions.yaml')
  // JSON is YAML too.
  await writeFile(configFile, JSON.stringify({ regions: [region] }))
  return { configFile, registry: env.REGISTRY!, ingress, namespacePrefix }
}

/** Pushes an image with this machine's Node.js to a registry and returns its name, for clusters without the internet. */
export async function pushNodeImage(registry: string, signal: AbortSignal): Promise<string> {
  const files = imageFiles()
  const { tar, filling } = imageLayer(files)
  // Uncompressed: compressing it would take longer than sending it.
  const [layer] = await Promise.all([buffer(tar), filling])
  const config = Buffer.from(
    JSON.stringify({
      ...{ architecture: process.arch === 'arm64' ? 'arm64' : 'amd64', os: 'linux' },
      config: { Env: imageEnv(files), Cmd: ['node'] },
      rootfs: { type: 'layers', diff_ids: [digestOf(layer)] },
    }),
  )
  const api = `http://${registry}/v2/longshore-local-node`
  const descriptors = []
  for (const [kind, body] of [
    ['config.v1+json', config],
    ['layer.v1.tar', layer],
  ] as const) {
    const digest = digestOf(body)
    await pushBlob(api, digest, body, signal)
    descriptors.push({ mediaType: `application/vnd.oci.image.${kind}`, digest, size: body.length })
  }
  const mediaType = 'application/vnd.oci.image.manifest.v1+json'
  const manifest = { schemaVersion: 2, mediaType, config: descriptors[0], layers: descriptors.slice(1) }
  await sent(`${api}/manifests/1`, {
    ...{ method: 'PUT', headers: { 'content-type': mediaType }, signal },
    body: JSON.stringify(manifest),
  })
  return `${registry}/longshore-local-node:1`
}

function digestOf(body: Buffer): string {
  return `sha256:${createHash('sha256').update(body).digest('hex')}`
}

async function pushBlob(api: string, digest: string, body: Buffer, signal: AbortSignal): Promise<void> {
  const begun = await sent(`${api}/blobs/uploads/`, { method: 'POST', signal })
  const target = new URL(begun.headers.get('location') ?? '', api)
  target.searchParams.set('digest', digest)
  const headers = { 'content-type': 'application/octet-stream' }
  await sent(target, { method: 'PUT', body: new Uint8Array(body), headers, signal })
}

async function sent(url: string | URL, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init)
  if (!response.ok) throw new Error(`the registry answered ${response.status} to ${init.method} ${url}`)
  return response
}
