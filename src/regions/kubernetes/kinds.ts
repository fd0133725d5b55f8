import type { Manifest } from './manifests/workload.ts'

/** Kinds that Longshore writes or reads in a cluster: the version of their API, and the name of their collection. */
const kinds = {
  Namespace: ['v1', 'namespaces'],
  NetworkPolicy: ['networking.k8s.io/v1', 'networkpolicies'],
  ResourceQuota: ['v1', 'resourcequotas'],
  LimitRange: ['v1', 'limitranges'],
  Secret: ['v1', 'secrets'],
  Service: ['v1', 'services'],
  PersistentVolumeClaim: ['v1', 'persistentvolumeclaims'],
  Pod: ['v1', 'pods'],
  Job: ['batch/v1', 'jobs'],
  Deployment: ['apps/v1', 'deployments'],
  StatefulSet: ['apps/v1', 'statefulsets'],
  HorizontalPodAutoscaler: ['autoscaling/v2', 'horizontalpodautoscalers'],
  PodDisruptionBudget: ['policy/v1', 'poddisruptionbudgets'],
  Ingress: ['networking.k8s.io/v1', 'ingresses'],
  HTTPRoute: ['gateway.networking.k8s.io/v1', 'httproutes'],
  KnativeService: ['serving.knative.dev/v1', 'services'],
  PostgresCluster: ['postgresql.cnpg.io/v1', 'clusters'],
  ImageCatalog: ['postgresql.cnpg.io/v1', 'imagecatalogs'],
} as const
export type Kind = keyof typeof kinds
/** Kinds whose name is ambiguous. */
const extensionKinds: Readonly<Record<string, Kind>> = {
  'serving.knative.dev/v1 Service': 'KnativeService',
  'postgresql.cnpg.io/v1 Cluster': 'PostgresCluster',
}

/** The kind of an object to be applied. */
export function kindOf({ apiVersion, kind }: Manifest): Kind {
  const name = extensionKinds[`${apiVersion} ${kind}`] ?? kind
  if (name in kinds) return name as Kind
  throw new Error(`${apiVersion} ${kind} is not among the kinds that Longshore writes`)
}

/** The path of one object, or of the objects in all namespaces. */
export function pathOf(kind: Kind, namespace?: string, name?: string): string {
  const [version, collection] = kinds[kind]
  const api = `${version.includes('/') ? 'apis' : 'api'}/${version}`
  const place = namespace === undefined ? '' : `/namespaces/${namespace}`
  return `${api}${place}/${collection}${name === undefined ? '' : `/${name}`}`
}
