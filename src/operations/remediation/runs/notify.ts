import { insertNotification } from '../../../alerting/outbox.ts'
import { findAlertStates } from '../../../alerting/states.ts'
import type { RemediationStep } from '../../../contract/remediation-fields.ts'
import { remediationPage } from '../../../domain/alerts/console-pages.ts'
import { type AgentCall, remediationNotification } from '../../../domain/alerts/notification.ts'
import { newId } from '../../../domain/ids.ts'
import type { StoredRun } from '../../../domain/remediation/remediation.ts'
import { listContactPointsOf } from '../../../store/repositories/contact-points.ts'
import type { Context } from '../../core/handler.ts'
import { runResponse } from '../responses.ts'
import type { RunTarget } from './run-target.ts'

/** Tells the contact points of the remediation how the run stands. */
export async function notifyPeople(context: Context, run: StoredRun, target: RunTarget): Promise<void> {
  const { contactPointIds } = target.remediation
  await sendNotification(context, run, target, { event: 'remediation', contactPointIds })
}

/** The step `notify`. Returns what it did. */
export async function notifyStep(
  context: Context,
  run: StoredRun,
  { contactPointIds, text = '' }: RemediationStep & { action: 'notify' },
  target: RunTarget,
): Promise<string> {
  const ids = contactPointIds ?? target.remediation.contactPointIds
  const sent = await sendNotification(context, run, target, {
    event: 'remediation',
    contactPointIds: ids,
    text,
  })
  return sent === 0 ? 'There was no contact point to notify.' : `Notified ${sent} contact points.`
}

/** Returns the number of contact points that it goes to; those that were deleted are left out. */
export async function sendNotification(
  context: Context,
  run: StoredRun,
  { remediation, environment, alert }: RunTarget,
  {
    event,
    contactPointIds,
    agent,
    text = '',
  }: {
    event: 'remediation' | 'call-agent'
    contactPointIds: readonly string[]
    agent?: AgentCall
    text?: string
  },
): Promise<number> {
  const { tx, now, installation, secrets } = context
  const points = await listContactPointsOf(tx, { contactPointIds: [...contactPointIds] })
  const state = alert && (await findAlertStates(tx, [alert.alertId])).get(alert.alertId)
  const { remediationId, name } = remediation
  const notification = remediationNotification({
    event,
    eventId: newId('evt'),
    alert,
    state: state?.progress.state ?? 'Firing',
    environment,
    run: { ...runResponse(run), name },
    text,
    url: remediationPage(installation.publicUrl(), environment.cliEnvName, remediationId),
  })
  for (const { contactPointId } of points) {
    const notificationId = newId('ntc')
    const sealed = agent && {
      agent: { ...agent, token: secrets.seal(agent.token, `${notificationId}/token`) },
    }
    await insertNotification(
      tx,
      {
        ...{ notificationId, contactPointId, alertId: null, appEnvId: run.appEnvId, ordinal: 0 },
        dedupKey: run.episode,
        notification: { ...notification, ...sealed },
      },
      Date.parse(now),
    )
  }
  context.notifications.wake()
  return points.length
}
