import type { MissingCapability } from '../../contract/regions.ts'
import { ApiRefusal } from './api-server.ts'
import type { ClusterClient } from './client.ts'
import type { ClusterOptions } from './manifests/workload.ts'

const timeoutMs = 5_000

/** The settings of the regions file that are checked. */
export interface PreflightOptions {
  functionDomain?: string | undefined
  ingressClass?: string | undefined
  gateway?: ClusterOptions['gateway']
  tls?: ClusterOptions['tls']
  storageClass?: string | undefined
  prometheus?: string | undefined
  /** Why images cannot be built; null: they can, or the file asks for no builds. */
  buildProblem: () => Promise<string | null>
}

export interface ClusterFacts {
  hasKnative: boolean
  /** Below which Knative serves functions; null: it does not say. */
  functionDomain: string | null
  /** CloudNativePG, which runs PostgreSQL. */
  hasPostgres: boolean
  /** Capabilities that the file requests, or that every region has, and that do not work here. */
  missing: readonly MissingCapability[]
}

/** Checks which features a cluster has. Throws `AppError('unavailable')` if its API server cannot be used. */
export async function preflight(client: ClusterClient, options: PreflightOptions): Promise<ClusterFacts> {
  const { functionDomain, ingressClass, gateway, tls, storageClass, prometheus, buildProblem } = options
  const hasKnative = await exists(client, 'apis/serving.knative.dev/v1')
  const servedDomain = hasKnative && functionDomain !== undefined ? await knativeDomain(client) : null
  const hasPostgres = await exists(client, 'apis/postgresql.cnpg.io/v1')
  const checks: [MissingCapability['capability'], Promise<string | null>][] = [
    ['functions', Promise.resolve(functionProblem(functionDomain, hasKnative, servedDomain))],
    ['apps', classProblem(client, 'ingressclasses', ingressClass)],
    ['apps', gatewayProblem(client, gateway)],
    ['apps', issuerProblem(client, tls)],
    ['volumes', classProblem(client, 'storageclasses', storageClass)],
    [
      'autoscaling',
      // Another program than the API server, which may hang by itself.
      exists(client, 'apis/metrics.k8s.io/v1beta1')
        .catch(() => false)
        .then((found) =>
          found ? null : 'The cluster has no metrics server, which the autoscaler reads. Install it.',
        ),
    ],
    ['builds', buildProblem()],
    ['metrics', prometheusProblem(prometheus)],
  ]
  const missing = await Promise.all(
    checks.map(async ([capability, check]) => {
      const reason = await check
      return reason === null ? [] : [{ capability, reason }]
    }),
  )
  return { hasKnative, functionDomain: servedDomain, hasPostgres, missing: missing.flat() }
}

function functionProblem(
  wanted: string | undefined,
  hasKnative: boolean,
  served: string | null,
): string | null {
  if (wanted === undefined) return null
  if (!hasKnative)
    return 'The cluster has no Knative Serving (F5). Install it, or remove functionDomain of the region.'
  if (served === null || served === wanted) return null
  return `Knative serves functions below ${served}, and functionDomain of the region is ${wanted}. Correct functionDomain, or the ConfigMap config-domain of the namespace knative-serving.`
}

/** The domain of Knative that has no selector, which is that of functions; its default without one. Null: unreadable. */
async function knativeDomain(client: ClusterClient): Promise<string | null> {
  const path = 'api/v1/namespaces/knative-serving/configmaps/config-domain'
  const found = await client.read<{ data?: Record<string, string> }>(path).catch(() => null)
  if (!found) return null
  const domains = Object.entries(found.data ?? {}).filter(([name]) => name !== '_example')
  return domains.find(([, selector]) => selector.trim() === '')?.[0] ?? 'svc.cluster.local'
}

/** True also for an object that may not be read: it may well exist. */
async function exists(client: ClusterClient, path: string): Promise<boolean> {
  try {
    await client.read(path)
    return true
  } catch (error) {
    const { cause } = error as Error
    if (!(cause instanceof ApiRefusal)) throw error
    if (cause.status === 403) return true
    // 503: the API is registered, but its server does not answer.
    if (cause.status === 404 || cause.status === 503) return false
    throw error
  }
}

const classes = {
  ingressclasses: { path: 'apis/networking.k8s.io/v1/ingressclasses', noun: 'ingress', key: 'ingressClass' },
  storageclasses: { path: 'apis/storage.k8s.io/v1/storageclasses', noun: 'storage', key: 'storageClass' },
} as const

async function classProblem(
  client: ClusterClient,
  kind: keyof typeof classes,
  name: string | undefined,
): Promise<string | null> {
  const { path, noun, key } = classes[kind]
  if (name === undefined || (await exists(client, `${path}/${name}`))) return null
  return `The cluster has no ${noun} class ${name}. Create it, or correct ${key} of the region.`
}

async function gatewayProblem(
  client: ClusterClient,
  gateway: ClusterOptions['gateway'],
): Promise<string | null> {
  if (!gateway) return null
  const api = 'apis/gateway.networking.k8s.io/v1'
  if (!(await exists(client, api)))
    return 'The cluster has no Gateway API. Install it, or use ingressClass in place of gateway of the region.'
  const { name, namespace } = gateway
  if (await exists(client, `${api}/namespaces/${namespace}/gateways/${name}`)) return null
  return `The cluster has no Gateway ${name} in the namespace ${namespace}. Create it, or correct gateway of the region.`
}

async function issuerProblem(client: ClusterClient, tls: ClusterOptions['tls']): Promise<string | null> {
  if (typeof tls !== 'object') return null
  if (await exists(client, `apis/cert-manager.io/v1/clusterissuers/${tls.clusterIssuer}`)) return null
  return `The cluster has no ClusterIssuer ${tls.clusterIssuer} of cert-manager. Create it, or correct tls of the region.`
}

async function prometheusProblem(url: string | undefined): Promise<string | null> {
  if (url === undefined) return null
  const query = `${url.replace(/\/+$/, '')}/api/v1/query?query=1`
  try {
    const { status } = await fetch(query, { signal: AbortSignal.timeout(timeoutMs) })
    if (status === 200) return null
    return `Prometheus answers with status ${status}. Correct prometheus of the region.`
  } catch {
    return `Prometheus does not answer at ${url}. Start it, or correct prometheus of the region.`
  }
}
