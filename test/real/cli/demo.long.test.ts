import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { barChart } from '../../../src/cli/demo/chart.ts'
import { addressOf, peaksOf, type Reply } from '../../../src/cli/demo/traffic.ts'
import { dockerAvailable } from '../../../testkit/engines/docker-available.ts'

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..')
const entry = path.join(root, 'dist/longshore.js')
const hasDocker = dockerAvailable

beforeAll(() => {
  // `npm test` builds first; this is for a single run of this file on a clean clone.
  if (!existsSync(entry)) execFileSync(process.execPath, ['build.mjs'], { cwd: root })
})

interface Demo {
  child: ChildProcess
  said(): string
  code: Promise<number>
}

function startDemo(engine: string, ...words: string[]): Demo {
  const env = { ...process.env, LONGSHORE_ENGINE: engine }
  const child = spawn(process.execPath, [entry, 'demo', ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
  }
  return { child, said: () => text, code: once(child, 'close').then(([code]) => code as number) }
}

async function until(what: string, holds: () => boolean) {
  const deadlineMs = performance.now() + 120_000
  while (!holds()) {
    if (performance.now() > deadlineMs) throw new Error(`never: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Neither the folder of the run nor a process that names it. */
function expectNothingLeft(said: string) {
  const folder = /installation in (\S+),/.exec(said)?.[1]
  expect(folder).toBeTruthy()
  expect(existsSync(folder!)).toBe(false)
  if (!existsSync('/proc/self/cmdline')) return
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const naming = pids.filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(folder!)
    } catch {
      return false
    }
  })
  expect(naming).toEqual([])
}

const engines = [
  { engine: 'process', absent: false },
  { engine: 'docker', absent: !hasDocker },
]

describe('the whole scenario through a real MCP client', () => {
  for (const { engine, absent } of engines) {
    const title = `F1 F2 F3 F8 F10 F11 hold on the ${engine} engine, and nothing is left`
    it.skipIf(absent)(
      absent ? `${title} (absent: no container engine answers)` : title,
      async () => {
        const demo = startDemo(engine)
        const code = await demo.code
        expect({ code, said: demo.said() }).toMatchObject({
          code: 0,
          said: expect.stringContaining('All checks passed'),
        })
        const steps = demo.said().match(/^✓ .*$/gm) ?? []
        expect(steps.length).toBeGreaterThanOrEqual(16)
        expect(steps.join('\n')).toContain(`engine ${engine}`)
        expectNothingLeft(demo.said())
      },
      180_000,
    )
  }

  const stories = {
    autonomy: ['refused: ', 'waits as apv_', 'a person saw the change', 'is gone again'],
    remediation: [
      'the alert fires',
      'without a person',
      'verified by its own alert',
      'Steps: rollback.',
      '200 again',
    ],
  }
  for (const [story, texts] of Object.entries(stories)) {
    it(`needs-approval: the story ${story} plays in under 90 s, and nothing is left`, async () => {
      const startedMs = performance.now()
      const demo = startDemo('process', story)
      const code = await demo.code
      expect({ code, said: demo.said() }).toMatchObject({
        code: 0,
        said: expect.stringContaining('All checks passed'),
      })
      for (const text of texts) expect(demo.said()).toContain(text)
      expect(performance.now() - startedMs).toBeLessThan(90_000)
      expectNothingLeft(demo.said())
    }, 120_000)
  }

  it('Ctrl-C in the middle removes everything and exits with 130', async () => {
    const demo = startDemo('process')
    await until('the function answered', () => demo.said().includes('200 from instance'))
    demo.child.kill('SIGINT')
    expect(await demo.code).toBe(130)
    expect(demo.said()).toContain('everything was removed')
    expectNothingLeft(demo.said())
  })
})

describe('what the demo shows', () => {
  it('draws a value over time, and keeps a short peak', () => {
    const samples = [
      { atMs: 0, value: 1 },
      { atMs: 500, value: 3 },
      { atMs: 510, value: 1 },
      { atMs: 800, value: 0 },
      { atMs: 1_000, value: 0 },
    ]
    expect(barChart(samples, 10)).toEqual([
      '  3 │    ██',
      '  2 │    ██',
      '  1 │████████',
      '  0 └──────────',
      '     0      1 s',
    ])
    expect(barChart([])).toEqual([])
  })

  it('takes the highest count that each container reported', () => {
    const reply = (instance: string, peak: number): Reply => ({
      status: 200,
      body: { message: '', instance, pid: 1, inFlight: 1, peak, answered: 1 },
      text: '',
      ms: 1,
    })
    expect([...peaksOf([reply('a', 3), reply('b', 2), reply('a', 7)])]).toEqual([
      ['a', 7],
      ['b', 2],
    ])
    expect(addressOf('http://hello-prod.fn.localhost:4480')).toEqual({
      host: '127.0.0.1',
      port: 4480,
      hostHeader: 'hello-prod.fn.localhost:4480',
    })
  })
})
