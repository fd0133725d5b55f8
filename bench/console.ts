/**
 * The web console: from sign-in to a page that takes clicks (goal: 1 s), frames while 5,000 environments
 * scroll (goal: 50 a second), and the cost of 50 open consoles, which replay the requests of a real page,
 * each with a session and a memory for unchanged answers of its own. Needs Chromium.
 *
 *   npm run build && npm run bench -- console [consoles, default 50]
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { updateAccount } from '../src/contract/accounts.ts'
import { createAppEnv, getAppEnv } from '../src/contract/app-envs.ts'
import { createApp } from '../src/contract/apps.ts'
import { ConsoleFixture, launchBrowser, noBrowser } from '../testkit/console/fixture.ts'
import { fillAccount, msToInteractive, scrollFrames } from '../testkit/console/measure.ts'
import { availableEngines } from '../testkit/engines/available-engines.ts'
import { median } from '../testkit/figures.ts'
import { deploy, makeFunction, sampleSource, untilDeployed } from '../testkit/platform/deploy.ts'
import { Installation } from '../testkit/platform/installation.ts'

const consoles = Number(process.argv[2] ?? 50)
const environments = 20
const recordMs = 20_000
const replayMs = 30_000
const idleMs = 10_000

interface Recorded {
  atMs: number
  url: string
}

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const print = (line: string) => process.stdout.write(`${line}\n`)

async function measurePages(count: number): Promise<void> {
  const what = `${count.toLocaleString('en')} environments`
  const browser = await launchBrowser()
  const fixture = await ConsoleFixture.start({ reconciles: false }, browser)
  try {
    await fillAccount(fixture, count)
    print(`interactive after sign-in, ${what}: ${await interactive(fixture)}`)
    const page = await fixture.signedIn('/')
    await page.locator('tbody a').first().waitFor()
    if (count < 1_000) return
    const frames = await scrollFrames(page, 300)
    const p95 = frames[Math.floor(frames.length * 0.95)] ?? 0
    const rate = 1_000 / median(frames)
    print(`scrolling ${what}: ${rate.toFixed(0)} frames/s, 95th percentile ${p95.toFixed(0)} ms a frame`)
  } finally {
    await fixture.close()
    await browser.close()
  }
}

async function interactive(fixture: ConsoleFixture): Promise<string> {
  const took: number[] = []
  for (let run = 0; run < 9; run += 1) took.push(await msToInteractive(fixture))
  return `median ${median(took).toFixed(0)} ms, at most ${Math.max(...took).toFixed(0)} ms (9 runs)`
}

/** The reads of two real pages, the list and one environment, with the times at which they were sent. */
async function record(installation: Installation, envName: string): Promise<Recorded[][]> {
  const browser = await launchBrowser()
  try {
    const page = await (await browser.newContext()).newPage()
    await page.goto(installation.ready.signInUrl ?? '')
    // Leaving earlier would cancel the sign-in.
    await page.waitForURL((url) => !url.pathname.endsWith('/sign-in'))
    const traces: Recorded[][] = []
    for (const pathname of ['', `environments/${envName}`]) {
      await page.goto(new URL(pathname, installation.ready.console).href)
      await page.locator('main h1').waitFor()
      const trace: Recorded[] = []
      const startMs = performance.now()
      const note = (request: { url(): string; method(): string }) => {
        if (request.method() !== 'GET') return
        trace.push({ atMs: performance.now() - startMs, url: request.url() })
      }
      page.on('request', note)
      await wait(recordMs)
      page.off('request', note)
      if (trace.length === 0) throw new Error(`the page /console/${pathname} read nothing in ${recordMs} ms`)
      traces.push(trace)
    }
    return traces
  } finally {
    await browser.close()
  }
}

/** One console: its own session, and its own memory of tags. */
async function openConsole(installation: Installation, trace: readonly Recorded[], untilMs: number) {
  const origin = new URL(installation.ready.api).origin
  const signedIn = await fetch(`${origin}/console/session`, {
    method: 'POST',
    headers: { 'longshore-console': '1', 'content-type': 'application/json' },
    body: JSON.stringify({ token: installation.token }),
  })
  const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const tags = new Map<string, string>()
  const took: number[] = []
  let beginMs = performance.now() - Math.random() * recordMs
  for (; performance.now() < untilMs; beginMs += recordMs) {
    for (const { atMs, url } of trace) {
      const dueMs = beginMs + atMs - performance.now()
      if (dueMs < -1_000) continue
      await wait(Math.max(0, dueMs))
      if (performance.now() > untilMs) return took
      const startMs = performance.now()
      const tag = tags.get(url)
      const headers = { cookie, 'longshore-console': '1', ...(tag ? { 'if-none-match': tag } : {}) }
      const answer = await fetch(url, { headers })
      await answer.text()
      if (answer.status !== 200 && answer.status !== 304) throw new Error(`${url} answered ${answer.status}`)
      took.push(performance.now() - startMs)
      tags.set(url, answer.headers.get('etag') ?? '')
    }
  }
  return took
}

/** CPU seconds that a process has used, and its resident memory in MB. */
function usage(pid: number): { cpuSeconds: number; mb: number } {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  const ticks = Number(fields[11]) + Number(fields[12])
  const [, kb] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return { cpuSeconds: ticks / 100, mb: Number(kb) / 1024 }
}

async function measureCost(): Promise<void> {
  const base = (await availableEngines()).find(({ engine }) => engine === 'process')?.base
  if (!base) throw new Error('the process engine is not here')
  const installation = new Installation({ LONGSHORE_ENGINE: 'process' })
  try {
    await installation.start()
    const envName = await fillInstallation(installation, base)
    const { pid } = JSON.parse(readFileSync(path.join(installation.home, 'run/serve.json'), 'utf8'))
    const traces = await record(installation, envName)
    const over = async (work: () => Promise<unknown>) => {
      const [before, startMs] = [usage(pid), performance.now()]
      await work()
      const seconds = (performance.now() - startMs) / 1_000
      const after = usage(pid)
      return { cpu: (after.cpuSeconds - before.cpuSeconds) / seconds, mb: after.mb, seconds }
    }
    const idle = await over(() => wait(idleMs))
    let took: number[] = []
    const busy = await over(async () => {
      const untilMs = performance.now() + replayMs
      const open = Array.from({ length: consoles }, (_, index) =>
        openConsole(installation, traces[index % traces.length] ?? [], untilMs),
      )
      took = (await Promise.all(open)).flat().sort((a, b) => a - b)
    })
    const p95 = took[Math.floor(took.length * 0.95)] ?? 0
    print(
      `${consoles} open consoles, half on the list of ${environments} and half on one environment: ${(took.length / busy.seconds).toFixed(0)} reads/s, 95th percentile ${p95.toFixed(1)} ms`,
    )
    print(
      `control plane: ${busy.cpu.toFixed(3)} CPU seconds a second (idle ${idle.cpu.toFixed(3)}), ${busy.mb.toFixed(0)} MB resident (idle ${idle.mb.toFixed(0)})`,
    )
  } finally {
    await installation.dispose()
  }
}

async function fillInstallation(installation: Installation, base: string): Promise<string> {
  const client = installation.client()
  const { accountId } = installation.ready
  await client.call(updateAccount, { accountId, zCloudLimit: 10 * environments })
  const { appEnvId } = await makeFunction(installation, 'busy')
  await deploy(installation, appEnvId, sampleSource(base))
  await untilDeployed(installation, appEnvId)
  const { appId } = await client.call(createApp, { name: 'shop', accountId, port: 8080 })
  for (let index = 1; index < environments; index += 1)
    await client.call(createAppEnv, { accountId, appId, name: `number ${index}`, region: 'local' })
  return (await client.call(getAppEnv, { appEnvId })).cliEnvName
}

if (noBrowser) throw new Error(noBrowser)
await measurePages(environments)
await measurePages(5_000)
await measureCost()
