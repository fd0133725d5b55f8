import { alertPage } from '../domain/alerts/console-pages.ts'
import { Evaluator, type EvaluatorDeps } from './evaluator.ts'
import { NotificationWorker, type NotificationWorkerDeps } from './notification-worker.ts'

interface AlertingDeps extends Omit<EvaluatorDeps, 'alertUrl' | 'wakeNotifications'>, NotificationWorkerDeps {
  /** Address under which people reach the platform, without a trailing slash. */
  publicUrl: () => string
}

/** Evaluator and outbox together; `serve` starts them after the reconciler. */
export interface Alerting {
  notifications: NotificationWorker
  evaluator: Evaluator
  start(): void
  stop(): Promise<void>
}

export function createAlerting(deps: AlertingDeps): Alerting {
  const notifications = new NotificationWorker(deps)
  const evaluator = new Evaluator({
    ...deps,
    alertUrl: (envName, alertId) => alertPage(deps.publicUrl(), envName, alertId),
    wakeNotifications: () => notifications.wake(),
  })
  return {
    notifications,
    evaluator,
    start() {
      notifications.start()
      evaluator.start()
    },
    async stop() {
      await evaluator.stop()
      await notifications.stop()
    },
  }
}
