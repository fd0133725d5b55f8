import { createHash } from 'node:crypto'

/** The namespace of an account. Account ids have one length, so no namespace begins with the name of another. */
export function clusterNamespace(namespacePrefix: string, accountId: string): string {
  return `${namespacePrefix}${dnsName(accountId.replace(/^acc_/, ''))}`
}

/** Whether an account has this namespace in a region with the prefix. Another region's prefix may begin with it. */
export function isNamespaceOf(namespacePrefix: string, namespace: string): boolean {
  return namespace.startsWith(namespacePrefix) && !namespace.slice(namespacePrefix.length).includes('-')
}

/** Names of Services begin with a letter and leave room for suffixes of Kubernetes and Knative. */
export function workloadName(envName: string): string {
  const name = /^[a-z]/.test(envName) ? envName : `e-${envName}`
  return name.length <= 40
    ? name
    : `${name.slice(0, 31)}-${createHash('sha256').update(envName).digest('hex').slice(0, 8)}`
}

/** An id as a part of a name in the cluster. */
export function dnsName(id: string): string {
  return id.toLowerCase().replaceAll(/[^a-z0-9-]/g, '-')
}
