import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAppEnv, getAppEnv } from '../../../src/contract/app-envs.ts'
import { createApp } from '../../../src/contract/apps.ts'
import type { RemediationRun } from '../../../src/contract/remediations.ts'
import { ControlPlanes } from '../../../testkit/platform/control-planes.ts'
import { deploy, noWindow, sampleSource, untilDeployed } from '../../../testkit/platform/deploy.ts'
import { randomOf } from '../../../testkit/random.ts'
import { noPostgres, PostgresServer } from '../../../testkit/store/postgres-server.ts'

/** What the answers of these calls carry. */
interface Body {
  alert: { alertId: string }
  remediation: { remediationId: string }
  runs: RemediationRun[]
  entries: {
    entryId: string
    operation: string
    remediationRunId: string | null
    undid: { entryId: string } | null
  }[]
  cursor: string | null
}

const count = Number(process.env.STORM_ALERTS ?? 40)
const wantedKills = Number(process.env.STORM_KILLS ?? 8)
const nodes = ['alder', 'birch'] as const
/** A minute passes in a second, a day in 24 minutes. */
const clockScale = 60
const atMost = 2
/** Of one environment, below the limit of the platform. */
const mostRemediations = 40

describe.skipIf(noPostgres)(`a storm of triggers${noPostgres ? `: left out, ${noPostgres}` : ''}`, () => {
  let server: PostgresServer
  let planes: ControlPlanes
  let accountId: string
  const environments: { appEnvId: string; host: string; node: (typeof nodes)[number] }[] = []
  const random = randomOf(Number(process.env.STORM_SEED ?? 1))
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

  beforeAll(async () => {
    server = await PostgresServer.start()
    const settings = { LONGSHORE_CLOCK_SCALE: String(clockScale) }
    planes = await ControlPlanes.start(server, { alder: 'north=process', birch: 'south=process' }, settings)
    accountId = planes.at('alder').ready.accountId
    const needed = Math.max(nodes.length, Math.ceil(count / mostRemediations))
    for (let index = 0; index < needed; index += 1) {
      const node = nodes[index % nodes.length]!
      const client = planes.at(node).client()
      const app = { accountId, name: `${node} ${index}`, dockerPreset: 'CUSTOM', port: 8080, ...noWindow }
      const { appId } = await client.call(createApp, app)
      const region = node === 'alder' ? 'north' : 'south'
      const { appEnvId } = await client.call(createAppEnv, { accountId, appId, name: 'prod', region })
      await deploy(planes.at(node), appEnvId, sampleSource('node:22-alpine'))
      await untilDeployed(planes.at(node), appEnvId)
      const { hosts } = await client.call(getAppEnv, { appEnvId })
      environments.push({ appEnvId, node, host: new URL(hosts[0]!.url).host })
    }
  })
  afterAll(async () => {
    await planes?.dispose()
    await server?.stop()
  })

  /** Sent until it is answered: a killed control plane does not respond until it has restarted. */
  async function call(method: string, path: string, input: Record<string, unknown>): Promise<Body> {
    for (;;) {
      const plane = planes.at(nodes[Math.floor(random() * nodes.length)]!)
      const url = new URL(`/api/public/v1${path}`, plane.ready.api)
      if (method === 'GET')
        for (const [name, value] of Object.entries(input)) url.searchParams.set(name, String(value))
      try {
        const answer = await fetch(url, {
          method,
          headers: { authorization: plane.token, 'content-type': 'application/json' },
          ...(method === 'GET' ? {} : { body: JSON.stringify(input) }),
        })
        if (answer.status === 200) return (await answer.json()) as Body
        if (answer.status < 500 && answer.status !== 429) throw new Error(`${path}: ${await answer.text()}`)
      } catch (error) {
        if ((error as Error).message.startsWith(path)) throw error
      }
      await pause(50)
    }
  }

  /** Bursts of requests with pauses between them: every alert on the rate of requests flaps. */
  async function flap(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const endMs = Date.now() + 2_500
      while (Date.now() < endMs && !isOver()) {
        await Promise.all(
          environments.map(({ node, host }) =>
            planes
              .at(node)
              .request(host)
              .catch(() => null),
          ),
        )
        await pause(20)
      }
      await pause(2_500)
    }
  }

  it(`${count} alerts that flap, ${wantedKills} times kill -9, two control planes: one run an episode, limits kept, every step and undo once`, {
    timeout: 1_800_000,
  }, async () => {
    const remediationIds: string[] = []
    for (let index = 0; index < count; index += 1) {
      const { appEnvId } = environments[index % environments.length]!
      const rule = { metric: 'ingress_request_rate', operator: 'gt', threshold: 1, duration: '1m' }
      const shape = { name: `a${index}`, ...rule, aggregation: 'last', queryRange: '5m', contactPointIds: [] }
      const { alert } = await call('POST', '/app-env/alert', { appEnvId, ...shape })
      const { remediation } = await call('POST', '/app-env/remediation', {
        ...{ appEnvId, name: `r${index}`, trigger: { alertId: alert.alertId }, mode: 'auto' },
        ...{ steps: [{ action: 'scale', containers: 2 + (index % 2) }], minSamples: 1, coolDownSeconds: 60 },
        ...{ atMost: { count: atMost, windowSeconds: 86_400 }, verify: { alertNormalWithinSeconds: 60 } },
      })
      remediationIds.push(remediation.remediationId)
    }
    let kills = 0
    const flapping = flap(() => kills >= wantedKills)
    while (kills < wantedKills) {
      await pause(2_000 + random() * 4_000)
      const plane = planes.at(nodes[kills % nodes.length]!)
      await plane.end('SIGKILL')
      kills += 1
      await plane.start()
    }
    await flapping

    const wrong: string[] = []
    const all: RemediationRun[] = []
    for (const remediationId of remediationIds) {
      // Runs that verify still have to end.
      let { runs } = await call('GET', '/remediation/runs', { remediationId, limit: 200 })
      for (let turn = 0; turn < 600 && runs.some(({ status }) => status === 'verifying'); turn += 1) {
        await pause(100)
        ;({ runs } = await call('GET', '/remediation/runs', { remediationId, limit: 200 }))
      }
      if (new Set(runs.map(({ episode }) => episode)).size !== runs.length)
        wrong.push(`${remediationId} has two runs of an episode`)
      const busy = runs.filter(({ steps }) => steps.length > 0)
      if (busy.length > atMost) wrong.push(`${remediationId} ran its steps ${busy.length} times`)
      all.push(...runs)
    }
    const entries: Body['entries'] = []
    let cursor: string | null = null
    do {
      const page: Body = await call('GET', '/audit', { accountId, limit: 200, ...(cursor ? { cursor } : {}) })
      entries.push(...page.entries)
      cursor = page.cursor
    } while (cursor !== null)
    for (const { runId, steps, status } of all) {
      const own = entries.filter(
        (entry) => entry.remediationRunId === runId && entry.operation !== 'update-remediation',
      )
      const [undos, done] = [own.filter(({ undid }) => undid), own.filter(({ undid }) => !undid)]
      const recorded = steps.flatMap(({ auditId }) => auditId ?? [])
      if (
        done
          .map(({ entryId }) => entryId)
          .toSorted()
          .join() !== recorded.toSorted().join()
      )
        wrong.push(`${runId} (${status}) did ${done.length} steps and recorded ${recorded.length}`)
      const put = undos.map(({ undid }) => undid!.entryId)
      if (new Set(put).size !== put.length) wrong.push(`${runId} put a change back twice`)
      if (status === 'undone' && put.length !== recorded.length) wrong.push(`${runId} put back ${put.length}`)
    }
    const statuses = [...new Set(all.map(({ status }) => status))]
    const tally = statuses.map((one) => `${all.filter(({ status }) => status === one).length} ${one}`)
    console.log(`${count} alerts, ${kills} kills, ${all.length} runs: ${tally.join(', ')}`)
    expect(wrong).toEqual([])
    expect(all.filter(({ steps }) => steps.length > 0).length).toBeGreaterThan(0)
  })
})
