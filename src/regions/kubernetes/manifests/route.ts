import { annotated, type ClusterOptions, type Manifest } from './workload.ts'

type Metadata = Manifest['metadata']

/** The route for `host` to the Service of the same name: an HTTPRoute of a Gateway, or an Ingress. */
export function routeManifest(host: string, options: ClusterOptions, metadata: Metadata): Manifest {
  const own = annotated(metadata, options.annotations?.route)
  return options.gateway ? gatewayRoute(host, options.gateway, own) : ingress(host, options, own)
}

/** TLS belongs to the listener of the Gateway, which has the certificate. */
function gatewayRoute(
  host: string,
  { name, namespace, listener }: NonNullable<ClusterOptions['gateway']>,
  metadata: Metadata,
): Manifest {
  const parent = { group: 'gateway.networking.k8s.io', kind: 'Gateway', name, namespace }
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata,
    spec: {
      parentRefs: [{ ...parent, ...(listener ? { sectionName: listener } : {}) }],
      hostnames: [host],
      rules: [{ backendRefs: [{ name: metadata.name, port: 80 }] }],
    },
  }
}

function ingress(host: string, { ingressClass, tls }: ClusterOptions, metadata: Metadata): Manifest {
  const backend = { service: { name: metadata.name, port: { number: 80 } } }
  const issuer = typeof tls === 'object' ? tls.clusterIssuer : null
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: annotated(metadata, issuer ? { 'cert-manager.io/cluster-issuer': issuer } : {}),
    spec: {
      ...(ingressClass ? { ingressClassName: ingressClass } : {}),
      // Without the name of a Secret the controller takes its default certificate.
      ...(tls ? { tls: [{ hosts: [host], ...(issuer ? { secretName: `${metadata.name}-tls` } : {}) }] } : {}),
      rules: [{ host, http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }],
    },
  }
}
