import { AppError } from '../../errors.ts'
import { keyOf } from './applied.ts'
import type { ClusterClient } from './client.ts'
import { kindOf } from './kinds.ts'
import { label, type Manifest } from './manifests/workload.ts'

/** Which environment writes the objects of a name: once one is deleted, another may have its name. */
export class NameClaims {
  readonly #holders = new Map<string, string>()

  /** False while another environment has the name. */
  take(name: string, appEnvId: string): boolean {
    const holder = this.#holders.get(name) ?? appEnvId
    this.#holders.set(name, holder)
    return holder === appEnvId
  }

  /** Frees the names of an environment once nothing more is written for it. */
  release(appEnvId: string): void {
    for (const [name, holder] of this.#holders) if (holder === appEnvId) this.#holders.delete(name)
  }
}

interface OwnedNamesDeps {
  client: ClusterClient
  claims: NameClaims
}

/** The names under which one environment may write: none has an object of an environment that was deleted. */
export class OwnedNames {
  readonly #appEnvId: string
  readonly #deps: OwnedNamesDeps
  readonly #own = new Set<string>()

  constructor(appEnvId: string, deps: OwnedNamesDeps) {
    this.#appEnvId = appEnvId
    this.#deps = deps
  }

  /** These objects have the label of the environment. */
  add(keys: Iterable<string>): void {
    for (const key of keys) this.#own.add(key)
  }

  /**
   * Throws `AppError('unavailable')` while an object of another environment has the name of one of these: applying over it
   * would take over its files, and its removal would also remove the new object.
   */
  async require(workload: string, manifests: readonly Manifest[]): Promise<void> {
    const { client, claims } = this.#deps
    if (!claims.take(workload, this.#appEnvId)) throw nameInUse(`the workload ${workload}`)
    for (const manifest of manifests) {
      const { namespace = '', name, labels } = manifest.metadata
      const kind = kindOf(manifest)
      const key = keyOf(kind, manifest.metadata)
      // The names of objects of one version contain its id.
      if (labels?.[label.rollout] !== undefined || this.#own.has(key)) continue
      const owner = (await client.identify(kind, namespace, name))?.labels?.[label.environment]
      if (owner !== undefined && owner !== this.#appEnvId) throw nameInUse(`${key} of ${owner}`)
      this.#own.add(key)
    }
  }

  release(): void {
    this.#own.clear()
    this.#deps.claims.release(this.#appEnvId)
  }
}

function nameInUse(what: string): AppError {
  return new AppError('unavailable', 'The cluster still has objects of another environment of this name', {
    details: `It waits until ${what} is removed.`,
  })
}
