import { getAppEnvStatus } from '../../src/contract/app-env-reads.ts'
import { createAppEnv, getAppEnv } from '../../src/contract/app-envs.ts'
import { createApp } from '../../src/contract/apps.ts'
import type { AvailableEngine } from '../../testkit/engines/available-engines.ts'
import { freePort } from '../../testkit/free-port.ts'
import { loadOn, versionSource } from '../../testkit/gateway/rolling-load.ts'
import { deploy, type Status, untilDeployed } from '../../testkit/platform/deploy.ts'
import {
  badPrograms,
  goodPrograms,
  hostileClockScale,
  hostileHealthCheck,
  latePrograms,
  listens,
  programSource,
} from '../../testkit/platform/hostile-programs.ts'
import { Installation } from '../../testkit/platform/installation.ts'
import { untilRead } from '../../testkit/until.ts'

/** Deploys each hostile program over a version that serves under load; answers whether every verdict was right. */
export async function hostile({ engine, base }: AvailableEngine): Promise<boolean> {
  const installation = new Installation({
    LONGSHORE_ENGINE: engine,
    LONGSHORE_CLOCK_SCALE: String(hostileClockScale),
  })
  await installation.start()
  try {
    return await new HostileDeployments(installation, engine, base).play()
  } finally {
    await installation.dispose()
  }
}

class HostileDeployments {
  readonly #lost: string[] = []
  #requests = 0
  #wrong = 0
  #played = 0

  constructor(
    readonly installation: Installation,
    readonly engine: string,
    readonly base: string,
  ) {}

  async play(): Promise<boolean> {
    await this.#overGood('bad', async (appEnvId) => {
      for (const [what, { server, reason }] of Object.entries(badPrograms))
        await this.#fails(appEnvId, what, server, reason)
      const elsewhere = listens('', String(await freePort()))
      await this.#fails(appEnvId, 'listens on another port', elsewhere, /wrong-port/)
    })
    await this.#overGood('good', async (appEnvId) => {
      for (const [what, server] of Object.entries(goodPrograms)) await this.#succeeds(appEnvId, what, server)
    })
    // A version that goes bad after its window serves alone: its requests fail, so none is sent.
    for (const [what, { server, verdict }] of Object.entries(latePrograms)) {
      const { appEnvId } = await this.#serving(what)
      await this.#goesBad(appEnvId, what, server, verdict)
    }
    console.log(
      `${this.engine}: ${this.#played} hostile deployments, ${this.#wrong} wrong verdicts; ` +
        `${this.#requests} requests, ${this.#lost.length} lost`,
    )
    for (const why of new Set(this.#lost)) console.log(`  ${why}`)
    return this.#wrong + this.#lost.length === 0
  }

  async #overGood(name: string, work: (appEnvId: string) => Promise<void>): Promise<void> {
    const { appEnvId, host } = await this.#serving(name)
    const { outcome, end } = loadOn(this.installation, host, 2)
    try {
      await work(appEnvId)
    } finally {
      await end()
    }
    this.#requests += outcome.requests
    this.#lost.push(...outcome.lost)
  }

  async #serving(name: string) {
    const client = this.installation.client()
    const { accountId } = this.installation.ready
    const app = { name, accountId, port: 8080, healthCheck: hostileHealthCheck }
    const { appId } = await client.call(createApp, app)
    const { appEnvId } = await client.call(createAppEnv, { accountId, appId, name: 'prod', region: 'local' })
    const { hosts } = await client.call(getAppEnv, { appEnvId })
    await deploy(this.installation, appEnvId, versionSource(this.base, 1))
    await untilDeployed(this.installation, appEnvId)
    return { appEnvId, host: hosts[0]?.host ?? '' }
  }

  async #deployed(appEnvId: string, server: string): Promise<Status> {
    await deploy(this.installation, appEnvId, programSource(this.base, server))
    return untilDeployed(this.installation, appEnvId)
  }

  async #fails(appEnvId: string, what: string, server: string, reason: RegExp): Promise<void> {
    const startMs = performance.now()
    const { currentDeployment: newest, currentVersion, status } = await this.#deployed(appEnvId, server)
    const verdict = `${newest?.status} ${newest?.failure?.reason ?? ''}`
    const isRight = newest?.status === 'FAILED' && reason.test(verdict) && currentVersion === 1
    this.#note(what, verdict, isRight && status === 'RUNNING', startMs)
  }

  async #succeeds(appEnvId: string, what: string, server: string): Promise<void> {
    const startMs = performance.now()
    const { currentDeployment: newest } = await this.#deployed(appEnvId, server)
    const verdict = `${newest?.status} ${newest?.failure?.reason ?? ''}`
    this.#note(what, verdict, newest?.status === 'DEPLOYED', startMs)
  }

  async #goesBad(appEnvId: string, what: string, server: string, expected: string): Promise<void> {
    const startMs = performance.now()
    await this.#deployed(appEnvId, server)
    const status = () => this.installation.client().call(getAppEnvStatus, { appEnvId })
    const { health } = await untilRead(status, (read) => read.health?.verdict === expected, expected).catch(
      status,
    )
    const verdict = `DEPLOYED, then ${health?.verdict}`
    this.#note(what, verdict, health?.verdict === expected, startMs)
  }

  #note(what: string, verdict: string, isRight: boolean, startMs: number): void {
    this.#played += 1
    if (!isRight) this.#wrong += 1
    const seconds = ((performance.now() - startMs) / 1_000).toFixed(1).padStart(6)
    console.log(`${what.padEnd(30)} ${verdict.padEnd(32)} ${isRight ? 'right' : 'WRONG'} ${seconds} s`)
  }
}
