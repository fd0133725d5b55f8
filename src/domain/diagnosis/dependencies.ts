import type { Finding } from '../../contract/diagnosis.ts'
import { type DatabaseFacts, type Detector, fixBy } from './facts.ts'

/** Databases that variables name and that do not run: known before the first request fails. */
export const detectDependencies: Detector = ({ databases, desiredState }) =>
  desiredState === 'stopped' ? [] : databases.filter(isDown).map(finding)

function isDown({ status, ready, namedBy }: DatabaseFacts): boolean {
  return namedBy.source === 'setting' && (status === 'STOPPED' || (status === 'RUNNING' && !ready))
}

function finding({ appEnvId, status, namedBy }: DatabaseFacts): Finding {
  const effect = `Starts the database ${appEnvId}.`
  return {
    cause: 'database-down',
    severity: 'warning',
    confidence: 'certain',
    summary: `The database ${appEnvId}, which its variables name, does not run (${status}).`,
    since: null,
    evidence: [namedBy],
    fix: status === 'STOPPED' ? fixBy('start-app-env', { appEnvId }, effect, true) : null,
  }
}
