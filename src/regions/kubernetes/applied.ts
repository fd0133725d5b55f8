import { createHash } from 'node:crypto'
import type { Observed } from './cache.ts'
import type { ObjectMetadata } from './client.ts'
import { kindOf } from './kinds.ts'
import type { Manifest } from './manifests/workload.ts'

interface AppliedObject {
  /** Hash of the manifest, whose text may contain variables. */
  hash: string
  /** Null: the cluster refused it, and keeps its previous object. */
  metadata: Pick<ObjectMetadata, 'uid' | 'generation'> | null
  lastWrite: string | null
}

/** The last applied objects of an environment or an account, so that only differing ones are applied. */
export class AppliedObjects {
  #objects = new Map<string, AppliedObject>()

  /** Whether the manifest equals the last applied one. */
  has(manifest: Manifest): boolean {
    return this.#objects.get(keyOfManifest(manifest))?.hash === hashOf(manifest)
  }

  /** `metadata`: the answer of the cluster; null: the cluster keeps its previous object. */
  add(manifest: Manifest, metadata: ObjectMetadata | null): void {
    const lastWrite = metadata && lastWriteOf(metadata)
    const { uid = '', generation } = metadata ?? {}
    const kept = metadata && { uid, generation }
    this.#objects.set(keyOfManifest(manifest), { hash: hashOf(manifest), metadata: kept, lastWrite })
  }

  /** Forgets all but these: the cluster has no others. */
  keepOnly(manifests: readonly Manifest[]): void {
    const kept = new Set(manifests.map(keyOfManifest))
    for (const key of this.#objects.keys()) if (!kept.has(key)) this.#objects.delete(key)
  }

  clear(): void {
    this.#objects.clear()
  }

  /** Whether the objects of the listed kinds are as they were applied. */
  isAsListed({ kinds, lastWrites }: ListedObjects): boolean {
    for (const [key, { lastWrite }] of this.#objects)
      if (lastWrite !== null && kinds.has(key.split(' ')[0]!) && lastWrites.get(key) !== lastWrite)
        return false
    return true
  }

  /** Whether a workload that was applied is gone, or was changed by others since. */
  isDrifted(observed: Observed | undefined): boolean {
    const found = [observed?.deployment, observed?.service, observed?.statefulSet, observed?.postgres]
    for (const [key, { metadata }] of this.#objects) {
      if (!metadata || !watchedKinds.has(key.split(' ')[0]!)) continue
      const now = found.find((one) => one !== undefined)?.metadata
      if (now?.uid !== metadata.uid || (now.generation ?? 0) > (metadata.generation ?? 0)) return true
    }
    return false
  }
}

const watchedKinds: ReadonlySet<string> = new Set([
  'Deployment',
  'KnativeService',
  'StatefulSet',
  'PostgresCluster',
])

/** Objects of some kinds, with the fields that reveal a change. */
export interface ListedObjects {
  kinds: ReadonlySet<string>
  lastWrites: ReadonlyMap<string, string>
  /** The keys of the objects of each environment, of deleted ones too. */
  environments: ReadonlyMap<string, readonly string[]>
}

export function keyOf(kind: string, { namespace = '', name }: { namespace?: string; name: string }): string {
  return `${kind} ${namespace}/${name}`
}

/** Becomes different with each change of an object, but not with a change of its status. */
export function lastWriteOf({ uid, generation, managedFields = [] }: ObjectMetadata): string {
  const writers = managedFields.flatMap(({ manager, time, subresource }) =>
    subresource === undefined ? `${manager} ${time}` : [],
  )
  return [uid, generation, ...writers.sort()].join(' ')
}

function keyOfManifest(manifest: Manifest): string {
  return keyOf(kindOf(manifest), manifest.metadata)
}

function hashOf(manifest: Manifest): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('base64')
}
