import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'

/**
 * Increase over the measured time that does not count as growth. Resident memory may vary more, because Node delays
 * garbage collection in idle processes.
 */
const allowed = { heldMb: 4, residentMb: 16, descriptors: 8, timers: 8 }
const answerMs = 5_000
const windowSamples = 5

interface Sample {
  atMs: number
  /** Heap and buffers after a garbage collection. Null for processes without the probe. */
  heldMb: number | null
  residentMb: number
  descriptors: number
  timers: number | null
}
const roles = ['serve', 'gateway', 'supervise'] as const
type Role = (typeof roles)[number]

/**
 * Runs in the Node processes of the installation that take over its environment: writes its heap use to a file
 * on SIGUSR2. The supervisor does not load the probe and has a small, steady heap: its resident memory is judged.
 */
const probe = `
const { writeFileSync, renameSync } = require('node:fs')
require('node:v8').setFlagsFromString('--expose-gc')
const gc = require('node:vm').runInNewContext('gc')
writeFileSync(__dirname + '/' + process.pid + '.here', '')
process.on('SIGUSR2', async () => {
  // Unreferenced buffers are freed shortly after the collection that found them.
  for (let turn = 0; turn < 3; turn++) {
    gc()
    await new Promise((resolve) => setTimeout(resolve, 30))
  }
  const { heapUsed, external } = process.memoryUsage()
  const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const file = __dirname + '/' + process.pid
  writeFileSync(file + '.part', JSON.stringify({ heapUsed, external, timers }))
  renameSync(file + '.part', file)
})
`

const names = { heldMb: 'MB held', residentMb: 'MB resident', descriptors: 'descriptors', timers: 'timers' }

/** Looks into the processes of one installation from outside. */
export class WatchedProcesses {
  readonly #dir = mkdtempSync(path.join(os.tmpdir(), 'soak-'))
  readonly #samples = new Map<Role, Sample[]>(roles.map((role) => [role, []]))
  readonly #startMs = performance.now()

  constructor() {
    writeFileSync(this.#probe, probe)
  }

  /** Environment the installation must be started with. */
  get env(): NodeJS.ProcessEnv {
    return { NODE_OPTIONS: `--require ${this.#probe}` }
  }

  get #probe(): string {
    return path.join(this.#dir, 'probe.cjs')
  }

  async look(home: string): Promise<void> {
    for (const [role, pid] of processesOf(home)) {
      const sample = await this.#lookAt(pid).catch(() => null)
      if (sample) this.#samples.get(role)!.push(sample)
    }
  }

  /** Prints one line a process; answers whether all are flat. */
  judge(): boolean {
    let flat = true
    for (const role of roles) {
      const all = this.#samples.get(role)!
      const settled = all.slice(Math.floor(all.length / 3))
      if (settled.length < 2 * windowSamples) throw new Error(`no samples of ${role}: is the run too short?`)
      const hours = (settled.at(-1)!.atMs - settled[0]!.atMs) / 3_600_000
      const isProbed = settled[0]!.heldMb !== null
      const judged = isProbed
        ? (['heldMb', 'descriptors', 'timers'] as const)
        : (['residentMb', 'descriptors'] as const)
      const figures = judged.map((what) => {
        const lows = leastOfEach(settled, what)
        const perHour = slope(lows)
        const good = perHour * hours <= allowed[what]
        flat &&= good
        const at = (value: number) => value.toFixed(what.endsWith('Mb') ? 1 : 0)
        const change = `${at(lows[0]!.value)} to ${at(lows.at(-1)!.value)}, ${perHour.toFixed(1)} an hour`
        return `${names[what]} ${change}${good ? '' : ' GROWS'}`
      })
      const resident = `resident ${all[0]!.residentMb.toFixed(0)} to ${all.at(-1)!.residentMb.toFixed(0)} MB`
      process.stdout.write(`${role.padEnd(10)} ${figures.join('; ')}; ${resident}\n`)
    }
    process.stdout.write(`${flat ? 'flat' : 'NOT flat'} over the last two thirds\n`)
    return flat
  }

  close(): void {
    rmSync(this.#dir, { recursive: true, force: true })
  }

  async #lookAt(pid: number): Promise<Sample> {
    // The signal would end a process without the probe.
    const usage = exists(path.join(this.#dir, `${pid}.here`)) ? await this.#ask(pid) : null
    return {
      atMs: performance.now() - this.#startMs,
      heldMb: usage && (usage.heapUsed + usage.external) / 1_048_576,
      residentMb: Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024,
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      timers: usage?.timers ?? null,
    }
  }

  async #ask(pid: number): Promise<{ heapUsed: number; external: number; timers: number }> {
    const file = path.join(this.#dir, String(pid))
    rmSync(file, { force: true })
    process.kill(pid, 'SIGUSR2')
    for (const endMs = performance.now() + answerMs; !exists(file); ) {
      if (performance.now() > endMs) throw new Error(`process ${pid} does not say what it holds`)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    return JSON.parse(readFileSync(file, 'utf8'))
  }
}

function exists(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false }) !== undefined
}

/** The processes of the installation, by role. */
function processesOf(home: string): Map<Role, number> {
  const found = new Map<Role, number>()
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8')
      if (!args.includes(home) && !environment.includes(`LONGSHORE_HOME=${home}`)) continue
      const role = roles.find((name) => args.some((arg) => arg.endsWith(name)))
      if (role && !args.includes('--member')) found.set(role, Number(pid))
    } catch {
      // Ended meanwhile.
    }
  }
  return found
}

interface Point {
  atMs: number
  value: number
}
type MetricTarget = 'heldMb' | 'residentMb' | 'descriptors' | 'timers'

/** The minimum of each few samples, because memory of requests in flight is not growth. */
function leastOfEach(samples: readonly Sample[], what: MetricTarget): Point[] {
  const points: Point[] = []
  for (let from = 0; from < samples.length; from += windowSamples) {
    const window = samples.slice(from, from + windowSamples)
    const values = window.map((sample) => sample[what] ?? Number.POSITIVE_INFINITY)
    points.push({ atMs: window[0]!.atMs, value: Math.min(...values) })
  }
  return points
}

/** Change per hour by least squares. */
function slope(points: readonly Point[]): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const x = points.map(({ atMs }) => atMs / 3_600_000)
  const y = points.map(({ value }) => value)
  const [mx, my] = [mean(x), mean(y)]
  const above = x.reduce((sum, value, index) => sum + (value - mx) * (y[index]! - my), 0)
  return above / x.reduce((sum, value) => sum + (value - mx) ** 2, 0)
}
