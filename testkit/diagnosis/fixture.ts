import { rm } from 'node:fs/promises'
import http from 'node:http'
import path from 'node:path'
import { findAlertStates, saveAlertState } from '../../src/alerting/states.ts'
import { type Clock, systemClock } from '../../src/clock.ts'
import type { diagnoseAppEnv, Fix } from '../../src/contract/diagnosis.ts'
import { operations } from '../../src/contract/index.ts'
import type { OutputOf } from '../../src/contract/operation.ts'
import type { RequestRecord } from '../../src/gateway/control/request-record.ts'
import { bucketOf } from '../../src/metrics/histogram.ts'
import type { IngressSample, Sample } from '../../src/metrics/sample.ts'
import { LogMasks } from '../../src/regions/logs/masks.ts'
import { RequestRecorder } from '../../src/regions/machine/request-recorder.ts'
import { listAlertsOfEnvironment } from '../../src/store/repositories/alerts.ts'
import type { SourceFiles } from '../builds/sample-sources.ts'
import { FakeEngine } from '../fakes/engine.ts'
import { tgz } from '../platform/deploy.ts'
import { TestPlatform } from '../platform/test-platform.ts'
import { untilRead } from '../until.ts'
import { dockerSetup, type EngineSetup, processSetup, withBases } from './engine-setup.ts'

type Diagnosis = OutputOf<typeof diagnoseAppEnv>
// biome-ignore lint/suspicious/noExplicitAny: each caller knows the shape it asks for
type Answer = any

/** Intervals pass faster, so that a start that times out takes seconds; timestamps are those of the machine. */
function hurried(factor: number): Clock {
  return {
    wallMs: () => systemClock.wallMs(),
    monotonicMs: () => systemClock.monotonicMs() * factor,
    // A timer may fire a millisecond early, which is several here: the deadline would not be over yet.
    after: (delayMs, task) => systemClock.after(delayMs / factor + 2, task),
  }
}

/** A platform whose region `local` runs source on a real engine, and `plain` runs images of the fake engine. */
export class DiagnosisFixture {
  readonly platform: TestPlatform
  readonly fake: FakeEngine
  readonly #setup: EngineSetup
  readonly #recorder: RequestRecorder
  #apps = 0

  private constructor(platform: TestPlatform, fake: FakeEngine, setup: EngineSetup) {
    this.platform = platform
    this.fake = fake
    this.#setup = setup
    const { db, logs, secrets, log } = platform
    this.#recorder = new RequestRecorder({ db, logs, log, masks: new LogMasks(db, secrets) })
  }

  static async start(kind: 'process' | 'docker' = 'process'): Promise<DiagnosisFixture> {
    const setup = await (kind === 'docker' ? dockerSetup() : processSetup())
    const fake = new FakeEngine()
    await setup.engine.open()
    const engines = new Map([
      ['local', setup.engine],
      ['plain', fake],
    ])
    const options = { clock: hurried(3), engines, nodeImage: setup.bases['node:20-alpine'] }
    const fixture = new DiagnosisFixture(await TestPlatform.start(options), fake, setup)
    await fixture.call('update-account', { accountId: fixture.platform.accountId, zCloudLimit: 1_000 })
    return fixture
  }

  async close(): Promise<void> {
    await this.platform.close()
    this.fake.host.clear()
    await this.#setup.remove()
  }

  async call(id: string, input: Record<string, unknown>): Promise<Answer> {
    const row = operations.find((one) => one.id === id)
    if (!row) throw new Error(`no operation ${id}`)
    const { admin } = this.platform
    const answer = await this.platform.request(row.method, row.path, { token: admin.token, input })
    if (answer.status !== 200) throw new Error(`${id}: ${answer.text}`)
    return answer.json
  }

  async environment(app: Record<string, unknown> = {}, more: Record<string, unknown> = {}): Promise<string> {
    this.#apps += 1
    const { accountId } = this.platform
    const shape = { accountId, name: `fault ${this.#apps}`, dockerPreset: 'CUSTOM', port: 8080, ...app }
    const { appId } = await this.call('create-app', shape)
    const input = { accountId, appId, name: 'prod', region: 'local', ...more }
    return (await this.call('create-app-env', input)).appEnvId
  }

  /** Uploads and deploys; resolves when the deployment has ended. `loses`: the upload disappears before the build. */
  async deploy(appEnvId: string, source: SourceFiles | Buffer, { loses = false } = {}): Promise<void> {
    const { storageKey, uploadUrl } = await this.call('request-deploy-storage-key', { appEnvId })
    const body = Buffer.isBuffer(source) ? source : await tgz(withBases(source, this.#setup.bases))
    const answer = await fetch(uploadUrl, { method: 'PUT', body: new Uint8Array(body) })
    if (!answer.ok) throw new Error(`upload: ${await answer.text()}`)
    if (loses) await rm(path.join(this.platform.dir, 'uploads', path.basename(storageKey)))
    await this.call('notify-code-upload', { appEnvId, storageKey })
    await this.deployed(appEnvId)
  }

  async deployed(appEnvId: string): Promise<void> {
    await untilRead(
      () => this.call('get-app-env-status', { appEnvId }),
      ({ currentDeployment }) => ['DEPLOYED', 'FAILED'].includes(currentDeployment?.status),
      `the deployment of ${appEnvId}`,
      600_000,
    )
  }

  /** Requests went to its containers until they ended twice, and their output is kept. */
  async crashed(appEnvId: string): Promise<void> {
    await untilRead(
      async () => {
        const [container] = this.platform.routes.routes.get(appEnvId)?.containers ?? []
        if (container) await answerOf(container, 1_000)
        return this.call('get-app-env-pods', { appEnvId })
      },
      ({ pods }) => pods.some(({ restartCount }: { restartCount: number }) => restartCount > 1),
      `a crash of ${appEnvId}`,
    )
  }

  /** Waits until this many lines of output are kept: they arrive slightly after the container that printed them. */
  async printed(appEnvId: string, lines: number): Promise<void> {
    await untilRead(
      () => this.call('get-logs', { appEnvId }),
      ({ logs }) => logs.length >= lines,
      `output of ${appEnvId}`,
    )
  }

  diagnosis(appEnvId: string): Promise<Diagnosis> {
    return this.call('diagnose-app-env', { appEnvId })
  }

  async apply({ operation, input }: Fix): Promise<void> {
    await this.call(operation, input)
    const appEnvId = input.appEnvId as string | undefined
    if (appEnvId) await this.deployed(appEnvId)
  }

  /**
   * Requests to the containers as the gateway would send them, logged as it would log them, and what it would have
   * counted. `leaves`: the client disconnects after `limitMs` rather than the gateway.
   */
  async load(appEnvId: string, requests: number, limitMs = 5_000, leaves = false): Promise<IngressSample> {
    // A busy machine may fail a health check, which takes the container out of the rotation for a while.
    const container = await untilRead(
      async () => this.platform.routes.routes.get(appEnvId)?.containers[0] ?? null,
      (found) => found !== null,
      `a container of ${appEnvId} that takes requests`,
    )
    const latency: Record<string, number> = {}
    const sample = { seconds: 10, requests, answered4xx: 0, answered5xx: 0, latency }
    const records: RequestRecord[] = []
    for (let sent = 0; sent < requests; sent += 1) {
      const startMs = performance.now()
      const answered = await answerOf(container!, limitMs)
      const status = leaves && answered === 504 ? 0 : answered
      const durationMs = performance.now() - startMs
      records.push(recordOf(status, durationMs, container?.name ?? null))
      if (status === 0) continue
      const bucket = String(bucketOf(durationMs))
      latency[bucket] = (latency[bucket] ?? 0) + 1
      if (status >= 500) sample.answered5xx += 1
    }
    this.#recorder.take([{ appEnvId, records }])
    await this.#recorder.settled()
    return sample
  }

  /** As many requests as if each had waited for most of its time, all answered. */
  async waited(appEnvId: string, requests: number, durationMs: number): Promise<void> {
    const records = Array.from({ length: requests }, () => recordOf(200, durationMs, null))
    this.#recorder.take([{ appEnvId, records }])
    await this.#recorder.settled()
    const latency = { [bucketOf(durationMs)]: requests }
    const ingress = { seconds: 10, requests, answered4xx: 0, answered5xx: 0, latency }
    await this.measured([{ appEnvId, containers: [], ingress }])
  }

  /** The alert of an environment fires, as if its condition had held for its duration. */
  async fires(appEnvId: string): Promise<void> {
    await this.platform.db.write(async (tx) => {
      const [alert] = await listAlertsOfEnvironment(tx, appEnvId)
      const state = (await findAlertStates(tx, [alert!.alertId])).get(alert!.alertId)!
      const progress = { ...state.progress, state: 'Firing', isOpen: true, episode: 1 } as const
      await saveAlertState(tx, { ...state, progress }, null)
    })
  }

  async measured(samples: readonly Sample[]): Promise<void> {
    const nowMs = systemClock.wallMs()
    await this.platform.metrics.append(nowMs, samples)
    for (const { appEnvId, ingress } of samples) {
      if (!ingress) continue
      const { requests, answered5xx: failed, latency } = ingress
      const answered = Object.values(latency).reduce((sum, count) => sum + count, 0)
      // Counted from now on, as if the deployment had been a while ago.
      this.platform.metrics.recentTraffic.add(
        appEnvId,
        { requests, failed, unanswered: requests - answered },
        nowMs,
        nowMs,
      )
    }
  }
}

function recordOf(status: number, durationMs: number, container: string | null): RequestRecord {
  const refused = status === 504 ? 'Response start timed out' : null
  const sizes = {
    bytesIn: 0,
    bytesOut: 0,
    coldStart: false,
    traceId: null,
    agent: null,
    undid: null,
    spanId: null,
    parentSpanId: null,
    oneIn: 1,
    stream: false,
    cut: null,
    clientAddress: '192.0.2.1',
  }
  const firstByteMs = refused ? null : durationMs
  const what = { method: 'GET', path: '/', status, durationMs, firstByteMs, container, refused }
  return { endedMs: systemClock.wallMs(), ...what, ...sizes }
}

function answerOf({ host, port }: { host: string; port: number }, limitMs: number): Promise<number> {
  return new Promise((resolve) => {
    const request = http.get({ host, port, path: '/', timeout: limitMs }, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode ?? 0))
    })
    request.once('timeout', () => {
      resolve(504)
      request.destroy()
    })
    request.once('error', () => resolve(502))
  })
}
