import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { Engine } from '../../../src/engines/engine.ts'
import { waitUntilListening } from '../../../src/engines/wait-until-listening.ts'
import { createLog } from '../../../src/log.ts'
import { IngressCounter } from '../../../src/metrics/ingress-counter.ts'
import { periodAt, Sampler } from '../../../src/metrics/sampler.ts'
import { MetricStore } from '../../../src/metrics/store.ts'
import { ProcessInstallation } from '../../../testkit/engines/process-installation.ts'
import { untilRead } from '../../../testkit/until.ts'

const log = createLog('test', 'silent')

describe('sampling', () => {
  it('follows the clock scale down to 250 ms', () => {
    expect([1, 2, 10, 40, 150, 10_000].map(periodAt)).toEqual([10_000, 5_000, 1_000, 250, 250, 250])
  })
})

describe('sampling of a real container (process engine)', () => {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-sampler-'))
  let installation: ProcessInstallation | null = null
  afterAll(async () => {
    await installation?.destroy()
    rmSync(dir, { recursive: true, force: true })
  })

  const server = `
const http = require('node:http'); let busyUntil = 0
http.createServer((request, response) => {
  if (request.url === '/burn') busyUntil = Date.now() + 60000
  if (request.url === '/rest') busyUntil = 0
  response.end('ok')
}).listen(process.env.PORT)
setInterval(() => { const end = Date.now() + 20; while (Date.now() < Math.min(end, busyUntil)); }, 25)
`

  it('sees cpu_percent rise while it is busy and fall when it rests', async () => {
    installation = await ProcessInstallation.create()
    const engine: Engine = await installation.open()
    const { image } = await installation.build(engine, {
      Dockerfile: 'FROM node:20-alpine\nWORKDIR /app\nCOPY . .\nCMD ["node", "server.js"]\n',
      'server.js': server,
    })
    const spec = installation.spec(image)
    let { address } = await engine.apply(spec)
    const looking = setInterval(async () => {
      address = (await engine.list()).find(({ name }) => name === spec.name)?.address ?? address
    }, 50)
    await waitUntilListening({
      address: () => address,
      stillRunning: () => true,
      timeoutMs: 60_000,
      clock: systemClock,
      signal: new AbortController().signal,
    }).finally(() => clearInterval(looking))
    const store = new MetricStore({ dir, periodMs: 250, log })
    await store.open(() => true)
    const container = { name: spec.name, engine, cpuMillicores: 200, memoryMb: 512, startedAt: null }
    const environments = () => [{ appEnvId: 'env_1', containers: [container], hasIngress: false, runs: true }]
    const ingress = new IngressCounter(250)
    const sampler = new Sampler({ clock: systemClock, log, store, ingress, environments })
    sampler.start()
    try {
      const latest = async () => {
        const toMs = Date.now()
        const range = { appEnvId: 'env_1', fromMs: toMs - 1_500, toMs, stepMs: 1_500 }
        return (await store.series({ ...range, metric: 'cpu_percent' }))[0]
      }
      const ask = (what: string) => fetch(`http://${address!.host}:${address!.port}/${what}`)
      await ask('burn')
      // It wants four fifths of a core; 8% of one are enough here, and a busy machine gives that.
      await untilRead(latest, (point) => (point?.value ?? 0) > 40, 'a busy container')
      await ask('rest')
      await untilRead(latest, (point) => point !== undefined && point.value < 20, 'a resting container')
      const memory = { appEnvId: 'env_1', fromMs: Date.now() - 5_000, toMs: Date.now(), stepMs: 5_000 }
      const [used] = await store.series({ ...memory, metric: 'memory_usage' })
      expect(used!.value).toBeGreaterThan(10)
      expect(used!.value).toBeLessThan(300)
    } finally {
      await sampler.stop()
    }
  })
})
