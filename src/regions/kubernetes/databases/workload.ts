import type { DatabaseSpec } from '../../../engines/engine.ts'
import type { Workload } from '../manifests/workload.ts'

/** What a cluster region runs of a managed database. */
export type DatabaseWorkload = Workload & { database: DatabaseSpec; mqttHost: string | null; diskMb: number }

/** The Secret with the credentials of a database, which every version uses. */
export function credentialsName(workload: string): string {
  return `${workload}-credentials`
}
