import {
  restartAppEnv,
  scaleAppEnvContainers,
  updateAppEnvAutoscaling,
  updateFunctionConfig,
} from '../../contract/app-env-actions.ts'
import { redeployAppEnv } from '../../contract/deployments.ts'
import type { Finding } from '../../contract/diagnosis.ts'
import { operations } from '../../contract/index.ts'
import { startJobRun } from '../../contract/jobs.ts'
import type { Operation } from '../../contract/operation.ts'
import type { RemediationStep, RemediationTrigger } from '../../contract/remediation-fields.ts'
import { healedBy } from '../../domain/diagnosis/safe-fix.ts'
import type { Environment } from '../../domain/environments/environment.ts'
import { AppError } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import { findContent, findLastGoodRollout, findRollout } from '../../store/repositories/rollouts.ts'
import type { StepCall } from '../core/call.ts'
import { checkInput } from '../core/check-input.ts'

type FunctionConfigChange = Partial<Environment['saved']['functionConfig']>

const byId = new Map(operations.map((row) => [row.id, row]))

/** What a step is performed on. */
interface StepFacts {
  environment: Environment
  trigger: RemediationTrigger
  /** The last diagnosis; null if there is none yet. */
  findings: readonly Finding[] | null
}

/** The operation that a step stands for; null for notify and call-agent. Throws `AppError` if there is none now. */
export async function callOfStep(
  tx: Tx,
  step: RemediationStep,
  { environment, trigger, findings }: StepFacts,
): Promise<StepCall | null> {
  const { appEnvId } = environment
  const call = (operation: Operation, input: Record<string, unknown>) => ({
    operation,
    input: checkInput(operation, input),
  })
  switch (step.action) {
    case 'restart':
      return call(restartAppEnv, { appEnvId })
    case 'rollback': {
      const version = step.version ?? (await earlierVersion(tx, environment))
      return call(redeployAppEnv, { appEnvId, version, settings: 'of-version' })
    }
    case 'scale': {
      const { action: _, containers, ...limits } = step
      return containers === undefined
        ? call(updateAppEnvAutoscaling, { appEnvId, ...limits })
        : call(scaleAppEnvContainers, { appEnvId, containers })
    }
    case 'function-limits': {
      const { action: _, ...given } = step
      refusePending(environment, given)
      return call(updateFunctionConfig, { appEnvId, ...given, applyImmediately: true })
    }
    case 'run-job': {
      const { action: _, ...given } = step
      return call(startJobRun, { appEnvId, ...given })
    }
    case 'apply-fix':
      return safeFix(trigger, findings)
    case 'notify':
    case 'call-agent':
      return null
  }
}

/** A limit that is saved and not in force is a change that a person has not finished. */
function refusePending({ saved, applied }: Environment, given: FunctionConfigChange): void {
  const names = Object.keys(given) as (keyof FunctionConfigChange)[]
  const pending = names.filter((name) => saved.functionConfig[name] !== applied.functionConfig[name])
  if (pending.length === 0) return
  throw new AppError('conflict', 'The step would override a pending change', {
    details: `${pending.join(', ')} is saved and not in force: apply or undo it first.`,
    rule: 'remediation-people',
  })
}

/** The version that served before the one that serves now. */
async function earlierVersion(tx: Tx, { appEnvId, currentRolloutId }: Environment): Promise<number> {
  const current = currentRolloutId === null ? null : await findRollout(tx, currentRolloutId)
  const earlier = current && (await findLastGoodRollout(tx, appEnvId, current.contentId))
  const content = earlier && (await findContent(tx, earlier.contentId))
  if (content) return content.version
  throw new AppError('invalid', 'There is no earlier version to go back to', {
    details: 'A rollback needs a version that served before; or name the version in the step.',
  })
}

/** The fix of the cause that triggered the run, or of the most fundamental finding; only one that diagnosis calls safe. */
function safeFix(trigger: RemediationTrigger, findings: readonly Finding[] | null): StepCall {
  const found = (findings ?? []).find(
    ({ cause, fix }) => fix?.safe && ('cause' in trigger ? cause === trigger.cause : isRemedy(fix.operation)),
  )
  const fix = found?.fix
  const operation = fix && byId.get(fix.operation)
  if (operation) return { operation, input: checkInput(operation, fix.input) }
  throw new AppError('invalid', 'Diagnosis has no safe fix', {
    details: 'diagnose-app-env shows the findings; a person has to judge their fixes.',
  })
}

/** A changed threshold silences an alert and heals nothing. */
function isRemedy(operation: string): boolean {
  return operation !== 'update-alert'
}

/** The operations that apply-fix may perform. */
export function fixOperations(): Operation[] {
  const ids = new Set(Object.values(healedBy).flat().filter(isRemedy))
  return [...ids].map((id) => byId.get(id)!)
}
