import { first } from './001-first.ts'
import { access } from './002-access.ts'
import { usage } from './003-usage.ts'
import { alerts } from './004-alerts.ts'
import { databasePorts } from './010-database-ports.ts'
import { jobRuns } from './011-job-runs.ts'
import { journalHeads } from './012-journal-heads.ts'
import { backups } from './013-backups.ts'
import { testNotices } from './014-test-notices.ts'

export interface Migration {
  name: string
  /** SQL that SQLite and PostgreSQL both speak. */
  statements: readonly string[]
}

/** In order; a released one is never edited. */
export const migrations: readonly Migration[] = [
  first,
  access,
  usage,
  alerts,
  databasePorts,
  jobRuns,
  journalHeads,
  backups,
  testNotices,
]
