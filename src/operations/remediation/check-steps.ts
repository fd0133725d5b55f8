import { operations } from '../../contract/index.ts'
import { isRead, type Operation } from '../../contract/operation.ts'
import type { RemediationStep } from '../../contract/remediation-fields.ts'
import { staysWithin } from '../../contract/resources.ts'
import { functionOnlyViolation, jobOnlyViolation, scalingViolation } from '../../contract/rules.ts'
import type { StoredRemediation } from '../../domain/remediation/remediation.ts'
import { AppError, rejectViolation } from '../../errors.ts'
import { findAlert } from '../../store/repositories/alerts.ts'
import { findApp } from '../../store/repositories/apps.ts'
import { findContactPoint } from '../../store/repositories/contact-points.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import { ownContactPoints } from '../alerts/contact-point-responses.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import type { Context } from '../core/handler.ts'

const byId = new Map(operations.map((row) => [row.id, row]))

/** Every object that the remediation names exists, and belongs to its environment or account. */
export async function checkReferences(
  context: Context,
  target: EnvironmentTarget,
  draft: StoredRemediation,
): Promise<void> {
  const { trigger, verify, contactPointIds } = draft
  if ('alertId' in trigger) await requireAlert(context, draft, trigger.alertId)
  else if ('alertNormalWithinSeconds' in verify) {
    throw invalid(
      'verify: a cause has no alert',
      'Send {"healthyWithinSeconds": 600}, or a trigger with an alertId.',
    )
  }
  await ownContactPoints(context, target.account.accountId, contactPointIds)
  for (const [index, step] of draft.steps.entries()) {
    try {
      await checkStep(context, target, step)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      const { kind, message, details, rule } = error
      throw new AppError(kind, message, {
        details: `steps[${index}]: ${details ?? message}`,
        ...(rule === undefined ? {} : { rule }),
      })
    }
  }
}

async function requireAlert({ tx }: Context, { appEnvId }: StoredRemediation, alertId: string) {
  const alert = await findAlert(tx, alertId)
  if (alert?.appEnvId === appEnvId) return
  throw invalid(
    'The trigger names no alert of this environment',
    `list-alerts with appEnvId ${appEnvId} shows its alerts; create-alert makes one.`,
  )
}

async function checkStep(context: Context, target: EnvironmentTarget, step: RemediationStep): Promise<void> {
  const { app, account } = target
  switch (step.action) {
    case 'scale':
      return checkScale(target, step)
    case 'function-limits':
      rejectViolation(functionOnlyViolation(app, 'update-function-config'))
      if (Object.keys(step).length === 1)
        throw invalid(
          'function-limits needs a limit',
          'Send maxScale, minScale, containerConcurrency or a timeout.',
        )
      return
    case 'run-job':
      return checkJob(context, target, step)
    case 'notify':
      await ownContactPoints(context, account.accountId, step.contactPointIds ?? [])
      return
    case 'call-agent':
      return checkAgent(context, target, step)
  }
}

function checkScale({ app }: EnvironmentTarget, step: RemediationStep & { action: 'scale' }): void {
  const { containers, minContainers, maxContainers } = step
  const isAutoscaling = minContainers !== undefined || maxContainers !== undefined
  rejectViolation(scalingViolation(app, isAutoscaling ? 'autoscaling' : 'manual container scaling'))
  if (isAutoscaling !== (containers !== undefined)) return
  throw invalid(
    'scale needs one target',
    'Send containers, or minContainers and maxContainers of the autoscaling.',
  )
}

async function checkJob(
  { tx }: Context,
  { environment, account }: EnvironmentTarget,
  { appEnvId, command }: RemediationStep & { action: 'run-job' },
): Promise<void> {
  const job = appEnvId === undefined ? environment : await findEnvironment(tx, { appEnvId })
  const stored = job && (await findApp(tx, job.appId))
  if (!stored || job.accountId !== account.accountId) {
    throw invalid(
      'run-job names no environment of this account',
      'Its appEnvId must be that of a job (list-app-envs shows them).',
    )
  }
  rejectViolation(jobOnlyViolation(stored.app, 'runs'))
  if (command || job.saved.jobConfig?.command || stored.app.jobConfig?.command) return
  throw invalid('run-job has no command', 'Send command in the step, or set the command of the job.')
}

async function checkAgent(
  { tx }: Context,
  { account }: EnvironmentTarget,
  { contactPointId, operations: ids }: RemediationStep & { action: 'call-agent' },
): Promise<void> {
  const point = await findContactPoint(tx, contactPointId)
  if (point?.accountId !== account.accountId || point.type !== 'webhook') {
    throw invalid(
      'call-agent needs a webhook',
      'contactPointId must be that of a contact point of type webhook (list-contact-points, create-contact-point).',
    )
  }
  for (const id of ids) {
    const operation = byId.get(id)
    if (operation && isForAgents(operation)) continue
    throw invalid(
      `call-agent cannot allow ${operation ? id : 'an unknown operation'}`,
      'operations lists reads and writes on one environment, such as get-logs and redeploy-app-env; never deletions, alerts, remediations, secrets, or what only people do.',
    )
  }
}

/** Those on the environment itself: an agent must not silence the alert that it was called for. */
function isForAgents(operation: Operation): boolean {
  const { policy, peopleOnly, answersSecret, answersCapability, id } = operation
  if (peopleOnly || answersSecret || answersCapability) return false
  if (isRead(operation)) return staysWithin(policy.on, 'reads', 'env')
  return policy.on === 'environment' && !('needs' in policy && policy.needs) && !id.startsWith('delete-')
}

function invalid(message: string, details: string): AppError {
  return new AppError('invalid', message, { details })
}
