import type { Metric } from '../../src/contract/metrics.ts'
import { AlertingFixture } from '../alerting/fixture.ts'
import type { TestPlatform } from '../platform/test-platform.ts'

type Json = Record<string, unknown>
// biome-ignore lint/suspicious/noExplicitAny: answers as a test reads them
type Answer = any

/** Alerts that a test fires, and remediations that act on them; the clock and the passes are moved by hand. */
export class RemediationFixture {
  constructor(readonly alerting: AlertingFixture) {}

  static async start(): Promise<RemediationFixture> {
    return new RemediationFixture(await AlertingFixture.start())
  }

  get platform(): TestPlatform {
    return this.alerting.platform
  }

  close(): Promise<void> {
    return this.alerting.close()
  }

  send(method: string, path: string, input: Json, token = this.platform.admin.token) {
    return this.platform.request(method, path, { token, input })
  }

  async ask(method: string, path: string, input: Json, token?: string): Promise<Answer> {
    const { status, json, text } = await this.send(method, path, input, token)
    if (status !== 200) throw new Error(`${method} ${path}: ${text}`)
    return json
  }

  /** An environment with an alert on its CPU, and a remediation of it. */
  async make(more: Json = {}, contactPointIds: string[] = []) {
    const { appEnvId, alertId } = await this.alerting.makeAlert(contactPointIds)
    const remediation = await this.remedy(appEnvId, { trigger: { alertId }, ...more })
    return { appEnvId, alertId, remediationId: remediation.remediationId as string }
  }

  async remedy(appEnvId: string, more: Json = {}): Promise<Answer> {
    const steps = [{ action: 'scale', containers: 3 }]
    const input = { appEnvId, name: 'More containers', mode: 'auto', steps, ...more }
    return (await this.ask('POST', '/app-env/remediation', input)).remediation
  }

  /** Cycles of 10 s with one sample each, and a pass after each of them. */
  async cycles(appEnvId: string, value: number | null, count: number, metric?: Metric): Promise<void> {
    for (let turn = 0; turn < count; turn += 1) {
      await this.alerting.cycles(appEnvId, value, 1, metric)
      await this.platform.remediations.pass()
    }
  }

  /** Until the alert fires, and the run has begun to act. */
  fire = (appEnvId: string) => this.cycles(appEnvId, 95, 8)

  async runs(remediationId: string): Promise<Answer[]> {
    return (await this.ask('GET', '/remediation/runs', { remediationId })).runs
  }

  /** The only run. */
  async run(remediationId: string): Promise<Answer> {
    const runs = await this.runs(remediationId)
    if (runs.length !== 1) throw new Error(`${runs.length} runs: ${JSON.stringify(runs)}`)
    return runs[0]
  }

  async containers(appEnvId: string): Promise<number> {
    return (await this.ask('GET', '/app-env', { appEnvId })).containers
  }

  async audit(appEnvId: string): Promise<Answer[]> {
    const { accountId } = this.platform
    return (await this.ask('GET', '/audit', { accountId, objectId: appEnvId })).entries
  }
}
