import { timestamp } from '../../clock.ts'
import { updateRemediation } from '../../contract/remediations.ts'
import { newTraceparent } from '../../trace.ts'
import { type AdmissionDeps, contextOf } from './admit.ts'
import type { RemediationContexts, Sources } from './handler.ts'

interface Deps extends AdmissionDeps {
  sources: Pick<Sources, 'metrics'>
  wake: RemediationContexts['wakeEnvironments']
}

/** The way of remediation runs to operations: the same as that of plans and approvals. */
export function remediationContexts(deps: Deps): RemediationContexts {
  return {
    remediationContext(tx, caller) {
      const now = timestamp(deps.clock.wallMs())
      const none = { token: null, idempotencyKey: null, dryRun: false } as const
      const origin = { surface: 'rest', traceparent: newTraceparent() } as const
      const around = { operation: updateRemediation, input: {}, ...origin, ...none }
      return contextOf(deps, tx, around, { caller, now })
    },
    wakeEnvironments: deps.wake,
    metrics: deps.sources.metrics,
  }
}
