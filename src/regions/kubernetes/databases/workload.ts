import type { DatabaseSpec } from '../../../engines/engine.ts'
import type { Workload } from '../manifests/workload.ts'

/** A managed database in a cluster region. */
export type DatabaseWorkload = Workload & { database: DatabaseSpec; mqttHost: string | null; diskMb: number }

/** The Secret with the credentials of a database, which every version uses. */
export function credentialsName(workload: string): string {
  return `${workload}-credentials`
}
