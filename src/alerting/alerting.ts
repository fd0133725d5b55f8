import { apiPrefix } from '../contract/operation.ts'
import { Evaluator, type EvaluatorParts } from './evaluator.ts'
import { NoticeLoop, type NoticeLoopParts } from './notice-loop.ts'

export interface AlertingParts extends Omit<EvaluatorParts, 'alertUrl' | 'wakeNotices'>, NoticeLoopParts {
  /** Public address of the API, without a trailing slash. */
  apiUrl: () => string
}

/** Evaluator and outbox together: what `serve` starts after the reconciler. */
export interface Alerting {
  notices: NoticeLoop
  evaluator: Evaluator
  start(): void
  stop(): Promise<void>
}

export function createAlerting(parts: AlertingParts): Alerting {
  const notices = new NoticeLoop(parts)
  const evaluator = new Evaluator({
    ...parts,
    alertUrl: (alertId) => `${parts.apiUrl()}${apiPrefix}/alert?alertId=${alertId}`,
    wakeNotices: () => notices.wake(),
  })
  return {
    notices,
    evaluator,
    start() {
      notices.start()
      evaluator.start()
    },
    async stop() {
      await evaluator.stop()
      await notices.stop()
    },
  }
}
