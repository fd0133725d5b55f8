import { randomUUID } from 'node:crypto'
import { appendFileSync, chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type Client, createClient } from '../../src/client/client.ts'
import { createAccount } from '../../src/contract/accounts.ts'
import { createAlert } from '../../src/contract/alerts.ts'
import { updateAppEnvVariables } from '../../src/contract/app-env-actions.ts'
import { getAppEnvStatus } from '../../src/contract/app-env-reads.ts'
import { createAppEnv, getAppEnv } from '../../src/contract/app-envs.ts'
import { createApp } from '../../src/contract/apps.ts'
import { notifyCodeUpload, requestDeployStorageKey } from '../../src/contract/deployments.ts'
import { getJobRun, type JobRunResponse, listJobRuns, startJobRun } from '../../src/contract/jobs.ts'
import type { Operation, OutputOf } from '../../src/contract/operation.ts'
import { sampleSource, tgz } from '../../testkit/platform/deploy.ts'
import { untilRead } from '../../testkit/until.ts'
import { pause, problems } from './report.ts'

const base = 'node:20-alpine'
const callMs = 15_000
/** Paused machines deploy nothing meanwhile. */
const deploymentMs = 300_000

interface Counter {
  appEnvId: string
  /** Before the first write. */
  revision: number
  sent: number
  acknowledged: number
  isOverMcp: boolean
}

interface Target {
  /** Address of the balancer. */
  url: string
  token: string
  accountId: string
}

/** The load of callers while faults are made; every call is repeated until it is acknowledged. */
export class Load {
  readonly client: Client
  readonly #target: Target
  readonly #counters: Counter[] = []
  readonly #done = { deployments: 0, runs: 0, alerts: 0 }
  readonly #dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-chaos-'))

  constructor(target: Target) {
    this.#target = target
    this.client = createClient({ url: target.url, token: target.token, surface: 'cli' })
    appendFileSync(this.#ran, '')
    chmodSync(this.#dir, 0o777)
    chmodSync(this.#ran, 0o666)
  }

  close(): void {
    rmSync(this.#dir, { recursive: true, force: true })
  }

  async make(
    name: string,
    region: string,
    app: Record<string, unknown>,
    accountId = this.#target.accountId,
  ): Promise<string> {
    const { appId } = await this.client.call(createApp, { accountId, name, ...app })
    return (await this.client.call(createAppEnv, { accountId, appId, name: 'prod', region })).appEnvId
  }

  /** Environments whose variable counts, two in an account; one is written over REST and one over MCP. */
  async makeCounters(count: number): Promise<void> {
    let { accountId } = this.#target
    for (let nth = 0; nth < count; nth += 1) {
      if (nth % 2 === 0) ({ accountId } = await this.client.call(createAccount, { name: `Account ${nth}` }))
      const region = nth % 4 < 2 ? 'south' : 'north'
      const app = { dockerPreset: 'CUSTOM', port: 80 }
      const appEnvId = await this.make(`counter ${nth}`, region, app, accountId)
      const { revision } = await this.client.call(getAppEnv, { appEnvId })
      this.#counters.push({ appEnvId, revision, sent: 0, acknowledged: 0, isOverMcp: nth % 2 === 1 })
    }
  }

  progress(): string {
    const writes = this.#counters.reduce((sum, { acknowledged }) => sum + acknowledged, 0)
    const { deployments, runs, alerts } = this.#done
    return `${writes} writes, ${deployments} deployments, ${runs} runs, ${alerts} alerts`
  }

  async write(writes: number): Promise<void> {
    const share = Math.ceil(writes / this.#counters.length)
    const count = async (counter: Counter) => {
      while (counter.acknowledged < share) {
        counter.sent = counter.acknowledged + 1
        await this.#count(counter)
        counter.acknowledged = counter.sent
      }
    }
    await Promise.all(this.#counters.map(count))
  }

  /** Each acknowledged write is there; each write over REST, which has a key, is there exactly once. */
  async judgeCounters(): Promise<void> {
    for (const { appEnvId, revision, acknowledged, isOverMcp } of this.#counters) {
      const found = await this.client.call(getAppEnv, { appEnvId })
      const value = Number(found.envVars.find(({ name }) => name === 'COUNT')?.value ?? 0)
      if (value !== acknowledged) problems.push(`a counter is ${value}, not ${acknowledged}`)
      if (!isOverMcp && found.revision - revision !== acknowledged)
        problems.push(`${acknowledged} writes with a key made ${found.revision - revision} revisions`)
    }
  }

  async #count({ appEnvId, sent, isOverMcp }: Counter): Promise<void> {
    const input = { appEnvId, set: [{ name: 'COUNT', value: String(sent), isSecret: false }] }
    if (!isOverMcp) return void (await this.#insist(updateAppEnvVariables, input))
    await insist(() => this.#overMcp('update-app-env-variables', input))
  }

  /** Without a session, so that any control plane may answer. */
  async #overMcp(name: string, input: object): Promise<void> {
    const answer = await fetch(`${this.#target.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${this.#target.token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-06-18',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name, arguments: input },
      }),
      signal: AbortSignal.timeout(callMs),
    })
    const text = await answer.text()
    if (!answer.ok || /"isError":true|"error":\{/.test(text)) throw new Error(text.slice(0, 200))
  }

  /** Deploys one version after the other, each until it serves. */
  async deploy(appEnvId: string, times: number): Promise<void> {
    const archive = new Uint8Array(await tgz(sampleSource(base)))
    for (let done = 0; done < times; done += 1) {
      await this.#upload(appEnvId, archive)
      await this.untilDeployed(appEnvId)
      this.#done.deployments += 1
    }
  }

  async untilDeployed(appEnvId: string): Promise<void> {
    const { currentDeployment: end } = await untilRead(
      () => this.client.call(getAppEnvStatus, { appEnvId }),
      ({ currentDeployment: one }) => one?.status === 'DEPLOYED' || one?.status === 'FAILED',
      'an end',
      deploymentMs,
    )
    if (end?.status !== 'DEPLOYED') problems.push(`a deployment failed: ${JSON.stringify(end)}`)
  }

  async #upload(appEnvId: string, archive: Uint8Array): Promise<void> {
    // An environment has at most 20 unused addresses: one is kept until it took the archive or refuses it.
    let address: OutputOf<typeof requestDeployStorageKey> | null = null
    await insist(async () => {
      address ??= await this.client.call(requestDeployStorageKey, { appEnvId })
      const { uploadUrl, storageKey } = address
      const url = `${this.#target.url}${new URL(uploadUrl).pathname}`
      const answer = await fetch(url, {
        method: 'PUT',
        body: archive,
        signal: AbortSignal.timeout(callMs),
      } as RequestInit)
      if (answer.status < 500) address = null
      if (!answer.ok) throw new Error(await answer.text())
      const idempotencyKey = randomUUID()
      await insist(() =>
        this.client.call(
          notifyCodeUpload,
          { appEnvId, storageKey },
          { idempotencyKey, signal: AbortSignal.timeout(callMs) },
        ),
      )
    })
  }

  async makeJob(region: string): Promise<string> {
    const jobConfig = { command: 'node job.js', maxConcurrency: 100 }
    const appEnvId = await this.make('job', region, { dockerPreset: 'JOB', jobConfig })
    await this.#upload(
      appEnvId,
      new Uint8Array(
        await tgz({
          Dockerfile: `FROM ${base}\nCOPY job.js .\n`,
          'job.js': `require('fs').appendFileSync(${JSON.stringify(this.#ran)}, process.argv[2] + '\\n')\n`,
        }),
      ),
    )
    return appEnvId
  }

  /** Starts runs, `atOnce` at a time, and waits for the end of each. */
  async runJobs(appEnvId: string, runs: number, atOnce: number): Promise<void> {
    let started = 0
    const worker = async () => {
      while (started < runs) {
        started += 1
        const name = `run-${started}`
        const { jobRun } = await this.#insist(startJobRun, { appEnvId, command: `node job.js ${name}` })
        const end = await untilRead(
          async () => (await this.client.call(getJobRun, { jobRunId: jobRun.jobRunId })).jobRun,
          ({ finishedAt }) => finishedAt !== null,
          `the end of ${name}`,
          deploymentMs,
        )
        this.#done.runs += 1
        if (end.status !== 'SUCCEEDED') problems.push(`${name}: ${JSON.stringify(end)}`)
      }
    }
    await Promise.all(Array.from({ length: atOnce }, worker))
  }

  /** Each start is one run, and each attempt ran in one container: a container leaves one line. */
  async judgeRuns(appEnvId: string, runs: number): Promise<void> {
    const listed: JobRunResponse[] = []
    for (let offset = 0; offset === listed.length; offset += 200)
      listed.push(...(await this.client.call(listJobRuns, { appEnvId, limit: 200, offset })).jobRuns)
    if (listed.length !== runs) problems.push(`${listed.length} runs, not ${runs}`)
    const lines = readFileSync(this.#ran, 'utf8').trim().split('\n')
    for (const { snapshot, attempt } of listed) {
      const ran = lines.filter((line) => snapshot.command.endsWith(` ${line}`)).length
      if (ran !== attempt) problems.push(`${snapshot.command} had ${attempt} attempts and ran ${ran} times`)
    }
  }

  async makeAlerts(appEnvIds: readonly string[], contactPointId: string, count: number): Promise<void> {
    const rule = { metric: 'memory_usage', operator: 'gt', threshold: 1, duration: '1m', queryRange: '5m' }
    for (let done = 0; done < count; done += 1) {
      const appEnvId = appEnvIds[done % appEnvIds.length] as string
      const contactPointIds = [contactPointId]
      await this.#insist(createAlert, { appEnvId, name: `alert ${done}`, ...rule, contactPointIds })
      this.#done.alerts += 1
    }
  }

  /** One key for all repeats, so that the call has one effect. */
  async #insist<Row extends Operation>(row: Row, input: Record<string, unknown>): Promise<OutputOf<Row>> {
    const idempotencyKey = randomUUID()
    return insist(() => this.client.call(row, input, { idempotencyKey, signal: AbortSignal.timeout(callMs) }))
  }

  get #ran(): string {
    return path.join(this.#dir, 'ran')
  }
}

async function insist<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (/^(?:invalid|not-found|forbidden)$/.test(String((error as { kind?: string }).kind))) throw error
      await pause(50)
    }
  }
}
