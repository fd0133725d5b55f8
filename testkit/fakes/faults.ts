import type { Header } from 'tar-stream'
import type { DatabasePresetName } from '../../src/contract/fields.ts'
import type { FailureReason } from '../../src/engines/engine.ts'

/** Faults of the next calls. Change it at any time. */
export interface FakeFaults {
  /** Every call throws `unavailable`, as with a daemon that is down. */
  away: boolean
  /** The next that many calls do their work, then fail as if the answer was lost. */
  loseReplies: number
  /** Why `pull` fails, or null. */
  failPulls: string | null
  /** Why the next that many `apply` of new containers fail. */
  failStarts: { times: number; reason: FailureReason; message: string }
  /** How long `apply` takes, on the clock. */
  applyDelayMs: number
  /** How long after `apply` the port answers, on the clock. */
  listenDelayMs: number
  /** `watch` sends no hints, which reveals code that relies on hints alone. */
  muteHints: boolean
  /** Databases that cannot run here. */
  missingDatabases: DatabasePresetName[]
  /** Labels of versions that cannot run here, such as `PostgreSQL 17`. */
  missingVersions: string[]
  /** Why copies of databases fail, after half of it is written; or null. */
  failDumps: string | null
  /** Why password changes fail; null lets them succeed. */
  failPasswords: string | null
  /** Come first in the tar of a volume. */
  strangeEntries: (Partial<Header> & { name: string })[]
  /** The next that many removals of everything of an environment fail. */
  failPurges: number
  /** Restores of volumes wait for it. */
  holdLoads: Promise<void> | null
  /** Environments whose volumes are copied without end, as a file of terabytes is. */
  endlessDumps: Set<string>
}

/** An engine without failures. */
export function noFaults(): FakeFaults {
  return {
    away: false,
    loseReplies: 0,
    failPulls: null,
    failStarts: { times: 0, reason: 'exited', message: 'told to fail' },
    applyDelayMs: 0,
    listenDelayMs: 0,
    muteHints: false,
    missingDatabases: [],
    missingVersions: [],
    failDumps: null,
    failPasswords: null,
    strangeEntries: [],
    failPurges: 0,
    holdLoads: null,
    endlessDumps: new Set(),
  }
}
