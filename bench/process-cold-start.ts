/**
 * Cold start of the process engine against its own floor, medians of runs taken in turn, and the cost of the
 * supervisor: time to start it, resident memory after the runs.
 *
 *   by hand   spawn `node server.js`, connect every 2 ms until it listens, read one answer
 *   plain     the same as apply on a machine that offers no private root
 *   apply     engine.apply() + waitUntilListening, read one answer
 *
 *   npm run bench -- process-cold-start [runs]
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { systemClock } from '../src/clock.ts'
import type { Address, Engine } from '../src/engines/engine.ts'
import { waitUntilListening } from '../src/engines/wait-until-listening.ts'
import { ProcessInstallation } from '../testkit/engines/process-installation.ts'
import { median } from '../testkit/figures.ts'

const runs = Number(process.argv[2] ?? 20)
const server = `require('node:http').createServer((_, response) => response.end('ok')).listen(Number(process.env.PORT))`
const installation = await ProcessInstallation.create()
const openMs = await timed(async () => void (await installation.open()))
const engine = await installation.open()
const files = {
  Dockerfile: 'FROM node:20-alpine\nWORKDIR /app\nCOPY . .\nCMD ["node", "server.js"]\n',
  'server.js': server,
}
const image = await installation.build(engine, files)
const file = path.join(image.root, 'app', 'server.js')

async function timed(work: () => Promise<void>): Promise<number> {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}

async function answered(address: () => Address | null): Promise<void> {
  const signal = new AbortController().signal
  await waitUntilListening({
    address,
    stillRunning: () => true,
    timeoutMs: 10_000,
    clock: systemClock,
    signal,
  })
  const { host, port } = address()!
  await new Promise<void>((resolve, reject) => {
    const request = http.get({ host, port, agent: false }, (response) => {
      response.once('data', () => resolve())
    })
    request.once('error', reject)
  })
}

let nextPort = 8_200
async function byHand(): Promise<number> {
  const port = nextPort++
  let child: ChildProcess | null = null
  const tookMs = await timed(async () => {
    const env = { PATH: process.env.PATH, PORT: String(port) }
    child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    await answered(() => ({ host: '127.0.0.1', port }))
  })
  const ended = new Promise((resolve) => child!.once('exit', resolve))
  child!.kill('SIGKILL')
  await ended
  return tookMs
}

const bare = await ProcessInstallation.create()
const plainEngine = await bare.open({ probe: async () => 'bench' })
const plainImage = await bare.build(plainEngine, files)

let applyMs: number[] = []
async function applied(engine: Engine, image: string): Promise<number> {
  const spec = installation.spec(image)
  const tookMs = await timed(async () => {
    let address: Address | null = null
    applyMs.push(
      await timed(async () => {
        address = (await engine.apply(spec)).address
      }),
    )
    await answered(() => address)
  })
  await engine.remove(spec.name)
  // The next private root begins shortly after a start.
  await new Promise((resolve) => setTimeout(resolve, 600))
  return tookMs
}

function supervisorMb(): number {
  const status = readFileSync(`/proc/${supervisorPid()}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024
}

/** The child of this process that has a data directory on its command line. */
function supervisorPid(): number {
  const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').trim().split(' ')
  return Number(children.find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--home')))
}

await byHand()
await applied(engine, image.image)
await applied(plainEngine, plainImage.image)
applyMs = []
const hand: number[] = []
const engineMs: number[] = []
const plainMs: number[] = []
for (let run = 0; run < runs; run++) {
  hand.push(await byHand())
  plainMs.push(await applied(plainEngine, plainImage.image))
  applyMs = applyMs.slice(0, engineMs.length)
  engineMs.push(await applied(engine, image.image))
}
const round = (value: number) => `${value.toFixed(1)} ms`
process.stdout.write(
  [
    `cold start of the process engine, ${runs} runs each in turn, medians`,
    `  by hand                 ${round(median(hand))}`,
    `  apply                   ${round(median(engineMs))}   of it the call itself ${round(median(applyMs))}`,
    `  plain                   ${round(median(plainMs))}   private root: ${round(median(engineMs) - median(plainMs))} more (goal: at most 3 ms)`,
    `  overhead                ${round(median(engineMs) - median(hand))}   (goal: at most 15 ms)`,
    `  open, supervisor absent ${round(openMs)}`,
    `  supervisor resident     ${supervisorMb().toFixed(1)} MB after ${runs + 1} containers`,
    '',
  ].join('\n'),
)
await installation.destroy()
await bare.destroy()
