import type { DatabaseAccess } from '../../src/domain/backups/backup.ts'
import type { ContainerSpec } from '../../src/engines/engine.ts'
import type { FakeContainer } from './container.ts'

/** State that outlives the engine: pass it to a second `FakeEngine` to test adoption. */
export class FakeHost {
  readonly containers = new Map<string, FakeContainer>()
  /** Image reference to the text of its CMD. */
  readonly images = new Map<string, string>()
  /** Environment and volume to its files. */
  readonly volumes = new Map<string, Map<string, string>>()
  /** Content of the database of each environment. */
  readonly databases = new Map<string, string>()
  /** What roles have in the databases, by environment. */
  readonly access = new Map<string, DatabaseAccess>()
  /** Passwords changed since the start, by environment. */
  readonly passwords = new Map<string, { previous: string; now: string }>()

  /** Ends everything, so that no port stays open after a test. */
  clear(): void {
    for (const container of this.containers.values()) container.end(137)
    this.containers.clear()
    this.images.clear()
    this.volumes.clear()
  }

  /** Makes the volumes of a spec that are not there yet; answers their files by mount path. */
  mount(spec: Pick<ContainerSpec, 'appEnvId' | 'mounts'>): Map<string, Map<string, string>> {
    const mounted = new Map<string, Map<string, string>>()
    for (const { volume, path } of spec.mounts ?? []) {
      const name = `${spec.appEnvId}/${volume}`
      const files = this.volumes.get(name) ?? new Map<string, string>()
      this.volumes.set(name, files)
      mounted.set(path, files)
    }
    return mounted
  }
}
