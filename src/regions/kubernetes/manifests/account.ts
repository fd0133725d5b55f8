import { zCloudSize } from '../../../domain/environments/environment.ts'
import { metadataRanges } from '../../../domain/environments/metadata-ranges.ts'
import { type ClusterOptions, label, type Manifest, namespaceOf } from './workload.ts'

const quotaFactor = 3
/** Networks of clusters and of machines: pods and Services of other tenants, and the nodes. */
const privateRanges = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10']

/**
 * The namespace of an account. Pod Security is `baseline` unless the region says `restricted`, because images of tenants
 * may run as root: without capabilities, without privileges and without a token of the cluster. Other violations of
 * `restricted` are in the cluster's audit log.
 */
export function accountManifests(
  accountId: string,
  installationId: string,
  options: ClusterOptions & { zCloudLimit: number },
): Manifest[] {
  const namespace = namespaceOf(options, accountId)
  const labels = { [label.installation]: installationId, [label.account]: accountId }
  const metadata = (name: string) => ({ name, namespace, labels })
  const podSecurity = {
    'pod-security.kubernetes.io/enforce': options.podSecurity ?? 'baseline',
    'pod-security.kubernetes.io/audit': 'restricted',
  }
  return [
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace, labels: { ...labels, ...podSecurity } },
    },
    networkPolicy(metadata('longshore')),
    {
      apiVersion: 'v1',
      kind: 'LimitRange',
      metadata: metadata('longshore'),
      // Before the quota, which refuses containers without limits: for those that the cluster adds.
      spec: {
        limits: [
          {
            type: 'Container',
            default: { cpu: '1', memory: '256Mi' },
            defaultRequest: { cpu: '25m', memory: '32Mi' },
          },
        ],
      },
    },
    {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: metadata('longshore'),
      // Above the limit that operations enforce: while a version replaces another one, both run.
      spec: {
        hard: {
          'limits.cpu': `${options.zCloudLimit * quotaFactor * zCloudSize.cpuMillicores}m`,
          'limits.memory': `${options.zCloudLimit * quotaFactor * zCloudSize.memoryMb}Mi`,
        },
      },
    },
  ]
}

function networkPolicy(metadata: Manifest['metadata']): Manifest {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata,
    spec: {
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
      // Other accounts' pods cannot connect; the ingress and Knative can.
      ingress: [
        {
          from: [
            { podSelector: {} },
            {
              namespaceSelector: {
                matchExpressions: [{ key: label.account, operator: 'DoesNotExist' }],
              },
            },
          ],
        },
      ],
      egress: [
        { to: [{ podSelector: {} }] },
        {
          to: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } } }],
          ports: [
            { port: 53, protocol: 'UDP' },
            { port: 53, protocol: 'TCP' },
          ],
        },
        // The internet, but neither the cluster's own network nor instance metadata.
        { to: [{ ipBlock: { cidr: '0.0.0.0/0', except: [...privateRanges, ...metadataRanges] } }] },
      ],
    },
  }
}
