/**
 * Cold start of the process engine against its own floor, medians of runs taken in turn, and the cost of the
 * supervisor: time to start it, resident memory after the runs.
 *
 *   by hand   spawn `node server.js`, connect every 2 ms until it listens, read one answer
 *   apply     engine.apply() + waitUntilListening, read one answer
 *
 *   npm run bench -- process-cold-start [runs]
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { systemClock } from '../src/clock.ts'
import type { Address } from '../src/engines/engine.ts'
import { waitUntilListening } from '../src/engines/wait-until-listening.ts'
import { ProcessInstallation } from '../testkit/engines/process-installation.ts'
import { median } from '../testkit/figures.ts'

const runs = Number(process.argv[2] ?? 20)
const server = `require('node:http').createServer((_, response) => response.end('ok')).listen(Number(process.env.PORT))`
const installation = await ProcessInstallation.create()
const openMs = await timed(async () => void (await installation.open()))
const engine = await installation.open()
const image = await installation.build(engine, {
  Dockerfile: 'FROM node:20-alpine\nWORKDIR /app\nCOPY . .\nCMD ["node", "server.js"]\n',
  'server.js': server,
})
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

let applyMs: number[] = []
async function applied(): Promise<number> {
  const spec = installation.spec(image.image)
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
await applied()
applyMs = []
const hand: number[] = []
const engineMs: number[] = []
for (let run = 0; run < runs; run++) {
  hand.push(await byHand())
  engineMs.push(await applied())
}
const round = (value: number) => `${value.toFixed(1)} ms`
process.stdout.write(
  [
    `cold start of the process engine, ${runs} runs each in turn, medians`,
    `  by hand                 ${round(median(hand))}`,
    `  apply                   ${round(median(engineMs))}   of it the call itself ${round(median(applyMs))}`,
    `  overhead                ${round(median(engineMs) - median(hand))}   (goal: at most 15 ms)`,
    `  open, supervisor absent ${round(openMs)}`,
    `  supervisor resident     ${supervisorMb().toFixed(1)} MB after ${runs + 1} containers`,
    '',
  ].join('\n'),
)
await installation.destroy()
