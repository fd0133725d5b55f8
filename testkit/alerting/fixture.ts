import { createNotifier } from '../../src/alerting/notifiers/deliver.ts'
import type { Notifier } from '../../src/alerting/notifiers/notifier.ts'
import { createAlert, getAlert } from '../../src/contract/alerts.ts'
import { createContactPoint } from '../../src/contract/contact-points.ts'
import type { Metric } from '../../src/contract/metrics.ts'
import { createLog, Secret } from '../../src/log.ts'
import { TestClock } from '../fakes/clock.ts'
import { FakeMetrics } from '../fakes/metrics.ts'
import { placeEnvironment } from '../platform/place-environment.ts'
import { TestPlatform } from '../platform/test-platform.ts'
import { MailServer } from './mail-server.ts'
import { Receiver } from './receiver.ts'

export const publicUrl = 'https://longshore.test'
const dayMs = 24 * 3_600_000

/** A platform whose alerts are evaluated by hand, on a clock moved by hand, with real receivers. */
export class AlertingFixture {
  readonly clock = new TestClock()
  readonly metrics = new FakeMetrics()
  readonly receiver: Receiver
  readonly mail: MailServer
  #platform: TestPlatform | null = null

  private constructor(receiver: Receiver, mail: MailServer) {
    this.receiver = receiver
    this.mail = mail
  }

  static async start(): Promise<AlertingFixture> {
    const fixture = new AlertingFixture(await Receiver.start(), await MailServer.start())
    const { clock, metrics } = fixture
    const notifier = fixture.newNotifier()
    fixture.#platform = await TestPlatform.start({ reconciles: false, metrics, clock, notifier, publicUrl })
    fixture.platform.alerting.notifications.start()
    return fixture
  }

  get platform(): TestPlatform {
    if (!this.#platform) throw new Error('not started')
    return this.#platform
  }

  newNotifier(): Notifier {
    return createNotifier({
      clock: this.clock,
      log: createLog('test', 'silent'),
      allowPrivate: true,
      incidentUrl: this.receiver.url('/incident'),
      smtpUrl: new Secret(this.mail.url),
      // The clock jumps while a notification is being delivered.
      deadlineMs: 2 * dayMs,
    })
  }

  call: TestPlatform['admin']['client']['call'] = (row, input) => this.platform.admin.client.call(row, input)

  async point(type: string, config: Record<string, unknown>): Promise<string> {
    const { accountId } = this.platform
    const answer = await this.call(createContactPoint, { accountId, name: `Ops ${type}`, type, config })
    return answer.contactPoint.contactPointId
  }

  /** One that was deployed and runs, as far as the rows say. */
  async makeEnvironment(app: Record<string, unknown> = {}): Promise<string> {
    const { appEnvId } = await this.platform.makeEnvironment({ app })
    const { db, now: createdAt } = this.platform
    const contentId = `dep_${appEnvId}`
    const record = JSON.stringify({ contentId, appEnvId, version: 1, type: 'IMAGE', images: {} })
    const row = { content_id: contentId, app_env_id: appEnvId, version: 1, record }
    await db.write((tx) =>
      tx
        .insertInto('contents')
        .values({ ...row, created_at: createdAt })
        .execute(),
    )
    await placeEnvironment(db, appEnvId, { status: 'RUNNING', desiredState: 'running' })
    return appEnvId
  }

  async makeAlert(contactPointIds: string[], more: { appEnvId?: string } & Record<string, unknown> = {}) {
    const appEnvId = more.appEnvId ?? (await this.makeEnvironment())
    const rule = { name: 'Busy', metric: 'cpu_percent', operator: 'gt', threshold: 80, duration: '1m' }
    const input = { appEnvId, ...rule, aggregation: 'last', contactPointIds, ...more }
    const { alertId } = (await this.call(createAlert, input)).alert
    return { appEnvId, alertId }
  }

  /** Cycles of 10 s with one sample each. */
  async cycles(appEnvId: string, value: number | null, count: number, metric: Metric = 'cpu_percent') {
    for (let turn = 0; turn < count; turn += 1) {
      await this.clock.advance(10_000)
      if (value !== null) this.metrics.add(appEnvId, metric, this.clock.wallMs(), value)
      await this.platform.alerting.evaluator.cycle()
    }
  }

  read = (alertId: string) => this.call(getAlert, { alertId })

  /** The notifications about an alert that the receiver accepted. */
  eventsOf(alertId: string) {
    return this.receiver.accepted.filter(({ body }) => body.alertId === alertId)
  }

  async close(): Promise<void> {
    // Close the receiver first: hanging requests would not end on a stopped clock.
    await this.receiver.close()
    await this.platform.close()
    await this.mail.close()
  }
}
