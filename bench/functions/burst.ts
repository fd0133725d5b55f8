import net from 'node:net'
import { getAppEnvPods } from '../../src/contract/app-env-reads.ts'
import type { AvailableEngine } from '../../testkit/engines/available-engines.ts'
import { machine, ms, quantile, say } from '../../testkit/figures.ts'
import { startFixture } from './fixture.ts'

const concurrency = 10
const maxScale = 3
const refused = 503

/**
 * 200 requests at once at zero: containers made, failures, the most requests in one container; then twice
 * as many requests as there are slots and waiting places: refusals and how soon they come (goal: 50 ms p99).
 */
export async function burst(available: AvailableEngine): Promise<void> {
  const functionConfig = { containerConcurrency: concurrency, maxScale }
  const fixture = await startFixture(available, { functionConfig })
  const podIds = async () => {
    const { pods } = await fixture.client.call(getAppEnvPods, { appEnvId: fixture.appEnvId })
    return pods.map((pod) => pod.podId)
  }
  try {
    await fixture.untilZero()
    const before = new Set(await podIds())
    const cold = await together(fixture.gatewayPort, fixture.host, 200, '/?ms=100')
    const started = (await podIds()).filter((podId) => !before.has(podId)).length
    say(`burst of 200 at zero, ${available.engine} engine (${machine()})`)
    say(`  containers started ${started} (maxScale ${maxScale}), ${summary(cold)}`)
    // Enough to fill every slot (30) and every waiting place (300), and as many again refused.
    const requests = 10 * concurrency * maxScale + 360
    const over = await together(fixture.gatewayPort, fixture.host, requests, '/?ms=400')
    const refusals = over.filter(({ status }) => status === refused).map((answer) => answer.ms)
    say(`overload, ${over.length} at once on ${concurrency * maxScale} slots`)
    say(
      `  ${summary(over)}, of them refused ${refusals.length}, refusal p99 ${ms(quantile(refusals, 0.99))} (goal: 50 ms)`,
    )
  } finally {
    await fixture.close()
  }
}

interface Answer {
  status: number
  ms: number
  peak: number
}

function summary(answers: readonly Answer[]): string {
  const failed = answers.filter(({ status }) => status !== 200).length
  const peak = Math.max(...answers.map((answer) => answer.peak))
  return `not answered 200: ${failed}, most at once in a container ${peak} (limit ${concurrency}), p99 ${ms(
    quantile(
      answers.map((answer) => answer.ms),
      0.99,
    ),
  )}`
}

/** Opens all connections first, so that the requests arrive together and not as fast as connections are made. */
async function together(port: number, host: string, count: number, path: string): Promise<Answer[]> {
  const sockets = Array.from({ length: count }, () => net.connect({ port, host: '127.0.0.1', noDelay: true }))
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('connect', resolve))))
  return Promise.all(sockets.map((socket) => ask(socket, host, path)))
}

function ask(socket: net.Socket, host: string, path: string): Promise<Answer> {
  const startedMs = performance.now()
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  return new Promise((resolve) => {
    let text = ''
    let firstMs = 0
    socket.setEncoding('latin1').on('data', (piece: string) => {
      firstMs ||= performance.now() - startedMs
      text += piece
    })
    socket.on('error', () => {})
    socket.once('close', () => {
      const status = Number(text.slice(9, 12))
      resolve({ status, ms: firstMs, peak: Number(/"peak":(\d+)/.exec(text)?.[1] ?? 0) })
    })
  })
}
