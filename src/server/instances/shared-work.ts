import type { Describe } from '../../alerting/descriptions.ts'
import { Evaluator } from '../../alerting/evaluator.ts'
import { NotificationWorker } from '../../alerting/notification-worker.ts'
import { createMailer } from '../../alerting/notifiers/email.ts'
import { forgetNotificationsBefore } from '../../alerting/outbox.ts'
import { timestamp } from '../../clock.ts'
import { alertPage } from '../../domain/alerts/console-pages.ts'
import type { MetricValues } from '../../metrics/source.ts'
import { forgetExpiredOAuth } from '../../oauth/server.ts'
import { forgetOldSessions } from '../../operations/access/console-sessions.ts'
import { mailSignInLinks } from '../../operations/access/mailed-links.ts'
import { mailApprovalLinks } from '../../operations/approvals/link-mail.ts'
import type { Context } from '../../operations/core/handler.ts'
import { RateSharing } from '../../operations/core/rate-sharing.ts'
import { forgetOldSources } from '../../operations/deployments/forget-old-sources.ts'
import { RemediationWorker, type RemediationWorkerDeps } from '../../operations/remediation/runs/worker.ts'
import { foldUsage } from '../../regions/usage-meter.ts'
import type { Db } from '../../store/db.ts'
import type { Wakes } from '../../store/membership.ts'
import { forgetAnsweredQuestionsBefore } from '../../store/repositories/answered-questions.ts'
import { forgetLinksBefore } from '../../store/repositories/approval-links.ts'
import { forgetChatMessagesBefore } from '../../store/repositories/chat-messages.ts'
import { forgetOldChat } from '../../store/repositories/chat-requests.ts'
import { forgetAnswersBefore } from '../../store/repositories/idempotency.ts'
import { forgetChallengesBefore } from '../../store/repositories/passkeys.ts'
import { forgetSignInLinksBefore } from '../../store/repositories/sign-in-links.ts'
import { forgetUnusedUploads } from '../../store/repositories/uploads.ts'
import { Worker } from '../../worker.ts'
import type { Platform } from '../platform.ts'
import { machineAway, type RegionDirectory } from '../regions/directory.ts'

const notifications = 'notifications'
const housekeepingEveryMs = 10 * 60_000
const foldUsageEveryMs = 3_600_000
const dayMs = 86_400_000
/** The lease under which links are mailed. */
export const linkMail = 'mail of approvals'
const mailEveryMs = 5_000
const mailDeadlineMs = 10_000

export interface SharedWork {
  /** For operations. */
  sender: Context['notifications']
  /** Evaluates the alerts of this machine's environments, whose metrics are here. */
  evaluator: Evaluator
  /** Evaluates those of a cluster region while this control plane runs it. */
  evaluatorOf(db: Db, regions: readonly string[]): Evaluator
  /** Absent without a shared store. */
  rateSharing: RateSharing | undefined
  /** The reactions of this instance to environments that another one changed, and to calls that it let through. */
  wakes(environments: Wakes['environments']): Wakes
  stop(): Promise<void>
}

/** What the work needs of the API, which starts after it. */
interface Around {
  publicUrl: () => string
  describe: Describe
  operations: () => RemediationWorkerDeps['operations']
}

/** Declares the work that one instance does at a time for the whole installation, each part under a lease. */
export function shareWork(
  platform: Platform,
  directory: RegionDirectory,
  { publicUrl, describe, operations }: Around,
): SharedWork {
  const { membership, regions, clock, config } = platform
  const { clockScale } = config
  const wakeNotifications = () => membership.wakeLease(notifications)
  const evaluatorOf = (db: Db, metrics: MetricValues, evaluated: () => readonly string[]) =>
    new Evaluator({
      ...{ db, clock, log: platform.log, metrics, clockScale, wakeNotifications },
      ...(membership.isShared ? { evaluatedRegions: evaluated } : {}),
      alertUrl: (envName, alertId) => alertPage(publicUrl(), envName, alertId),
    })
  membership.lease(notifications, (db) =>
    started(new NotificationWorker({ ...platform, db, clockScale, describe })),
  )
  membership.lease('remediations', (db) =>
    started(new RemediationWorker({ ...platform, db, clockScale, operations: operations() })),
  )
  membership.lease('housekeeping', (db) =>
    periodic(platform, housekeepingEveryMs, 'housekeeping failed; retrying', () =>
      forgetTheOld(platform, db),
    ),
  )
  membership.lease('usage', (db) =>
    periodic(platform, foldUsageEveryMs, 'usage could not be aggregated; retrying', () =>
      foldUsage(db, clock),
    ),
  )
  leaseMail(platform, publicUrl)
  if (membership.isShared) {
    membership.lease('alerts of absent machines', (db) => {
      const evaluator = evaluatorOf(db, absentMetrics(platform.metrics), () => directory.away())
      evaluator.start()
      return evaluator
    })
  }
  // Sends tests of contact points; the loop under the lease sends everything else.
  const tests = new NotificationWorker({ ...platform, clockScale })
  const own = regions.filter(({ cluster }) => !cluster).map(({ region }) => region)
  const evaluator = evaluatorOf(membership.machineDb, platform.readings, () => own)
  const rateSharing = membership.isShared
    ? new RateSharing(clock, (spent) => membership.announceSpent(spent))
    : undefined
  return {
    evaluator,
    evaluatorOf: (db, evaluated) => evaluatorOf(db, platform.readings, () => evaluated),
    rateSharing,
    wakes: (environments) => ({ environments, spent: (spent) => rateSharing?.spent(spent) }),
    async stop() {
      await evaluator.stop()
      await tests.stop()
    },
    sender: {
      // With a shared store the holder may be elsewhere, and looks every second.
      wake: () => (membership.isShared ? undefined : wakeNotifications()),
      sendNow: (notificationId) => tests.sendNow(notificationId),
    },
  }
}

/** Links of approvals and of sign-ins, where a mail server is configured. */
function leaseMail(platform: Platform, publicUrl: () => string): void {
  const { config, clock, membership } = platform
  const { smtpUrl } = config
  if (!smtpUrl) return
  const mailer = createMailer({ url: smtpUrl.reveal(), clock, deadlineMs: mailDeadlineMs })
  membership.lease(linkMail, (db) =>
    periodic(platform, mailEveryMs, 'links could not be mailed; retrying', async () => {
      await mailSignInLinks({ clock, db, mailer, publicUrl })
      await mailApprovalLinks({ ...platform, db, mailer, publicUrl })
    }),
  )
}

function started<Work extends { start(): void }>(work: Work): Work {
  work.start()
  return work
}

/** The metrics of an unreachable machine cannot be read: its alerts are evaluated as unreadable. */
function absentMetrics({ periodMs }: MetricValues): MetricValues {
  return {
    periodMs,
    async series() {
      throw machineAway('that runs the environment')
    },
  }
}

function periodic(
  { clock, log }: Platform,
  everyMs: number,
  failure: string,
  pass: () => Promise<unknown>,
): Worker {
  const worker = new Worker({ clock, everyMs, pass, failed: (error) => log.warn({ err: error }, failure) })
  worker.start()
  return worker
}

/**
 * Deletes expired answers (docs/interface.md#idempotency), notifications, upload addresses, requests and messages of chats,
 * old sources, console sessions, and codes and tokens of OAuth.
 */
async function forgetTheOld({ clock, config }: Platform, db: Db): Promise<void> {
  const nowMs = clock.wallMs()
  await db.write((tx) => forgetAnswersBefore(tx, timestamp(nowMs - dayMs)))
  await db.write((tx) => forgetNotificationsBefore(tx, timestamp(nowMs - 7 * dayMs)))
  await db.write((tx) => forgetUnusedUploads(tx, timestamp(nowMs - dayMs), timestamp(nowMs)))
  await db.write((tx) => forgetOldChat(tx, timestamp(nowMs), timestamp(nowMs - dayMs)))
  await db.write((tx) => forgetChatMessagesBefore(tx, timestamp(nowMs - 7 * dayMs)))
  await forgetOldSources(db, config.keptVersions)
  await db.write((tx) => forgetAnsweredQuestionsBefore(tx, timestamp(nowMs)))
  await db.write((tx) => forgetLinksBefore(tx, timestamp(nowMs - 90 * dayMs)))
  await forgetOldSessions({ db, clock })
  await db.write((tx) => forgetChallengesBefore(tx, timestamp(nowMs)))
  await db.write((tx) => forgetSignInLinksBefore(tx, timestamp(nowMs - dayMs)))
  await forgetExpiredOAuth(db, clock)
}
