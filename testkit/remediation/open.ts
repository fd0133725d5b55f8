import {
  RemediationWorker,
  type RemediationWorkerDeps,
} from '../../src/operations/remediation/runs/worker.ts'

/** The worker of a platform: tests call `pass`; with `alerts` it also polls by itself. */
export function openRemediations(
  deps: Omit<RemediationWorkerDeps, 'operations' | 'clockScale'> & {
    runner: RemediationWorkerDeps['operations']
  },
  { clockScale = 1, alerts }: { clockScale?: number; alerts?: boolean },
): RemediationWorker {
  const { db, clock, log, runner: operations } = deps
  const worker = new RemediationWorker({ db, clock, log, operations, clockScale })
  if (alerts) worker.start()
  return worker
}
