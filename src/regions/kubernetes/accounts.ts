import type { Account } from '../../store/repositories/accounts.ts'
import { AppliedObjects, type ListedObjects } from './applied.ts'
import type { ClusterClient } from './client.ts'
import { accountManifests } from './manifests/account.ts'
import type { ClusterOptions } from './manifests/workload.ts'

interface ClusterAccountsDeps {
  client: ClusterClient
  installationId: string
  options: ClusterOptions
}

/** The namespaces of accounts, with their limits. */
export class ClusterAccounts {
  readonly #deps: ClusterAccountsDeps
  readonly #applied = new Map<string, AppliedObjects>()

  constructor(deps: ClusterAccountsDeps) {
    this.#deps = deps
  }

  /** Applies the objects that are missing. */
  async ensure(accountId: string, { zCloudLimit }: Account['settings']): Promise<void> {
    const { client, installationId, options } = this.#deps
    const applied = this.#applied.get(accountId) ?? new AppliedObjects()
    this.#applied.set(accountId, applied)
    for (const manifest of accountManifests(accountId, installationId, { ...options, zCloudLimit }))
      if (!applied.has(manifest)) applied.add(manifest, await client.apply(manifest))
  }

  /** Its namespace is gone. */
  forget(accountId: string): void {
    this.#applied.delete(accountId)
  }

  /** Those that were changed in the cluster are applied again with the next of their environments. */
  compare(listed: ListedObjects): void {
    for (const [accountId, applied] of this.#applied)
      if (!applied.isAsListed(listed)) this.#applied.delete(accountId)
  }
}
