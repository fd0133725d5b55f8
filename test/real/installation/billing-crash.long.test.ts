import { readdirSync, readFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getAppEnvPods, getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import { getAppEnvUsage } from '../../../src/contract/measurements.ts'
import { deploy, makeFunction, sampleSource, untilDeployed } from '../../../testkit/platform/deploy.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { untilRead } from '../../../testkit/until.ts'

/** Says every 50 ms that it lives: what it is billed for can be held against that. */
const server = (watchPort: number) => `
const http = require('http')
const bornMs = Math.round(Date.now() - process.uptime() * 1000)
const say = () => http.get({ port: ${watchPort}, path: '/' + process.pid + '/' + bornMs, agent: false }).on('error', () => {})
say(); setInterval(say, 50)
http.createServer((request, response) => {
  const ms = Number(new URL(request.url, 'http://x').searchParams.get('ms') ?? 0)
  setTimeout(() => response.end('ok'), ms)
}).listen(process.env.PORT)
`

/** Hears the containers, from outside of the platform. */
class Witness {
  /** By process id, which containers may share, and time of birth. */
  readonly lives = new Map<string, { firstMs: number; lastMs: number }>()
  readonly #server = http.createServer((request, response) => {
    const [, pid, bornMs] = request.url!.split('/').map(Number)
    this.lives.set(`${pid} ${bornMs}`, { firstMs: bornMs!, lastMs: Date.now() })
    response.end()
  })

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return (this.#server.address() as AddressInfo).port
  }

  get seconds(): number {
    return [...this.lives.values()].reduce((sum, { firstMs, lastMs }) => sum + (lastMs - firstMs) / 1000, 0)
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

/** Every process below this one. */
function descendantsOf(parent: number): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const children = pids.filter((pid) => {
    try {
      // The name of the program, in parentheses, may have spaces.
      return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')[1] === String(parent)
    } catch {
      return false
    }
  })
  return children.map(Number).flatMap((pid) => [pid, ...descendantsOf(pid)])
}

function processOf(home: string, command: string): number {
  const found = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .find((pid) => {
      try {
        const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
        return args.includes(command) && args.some((arg) => arg.endsWith(home))
      } catch {
        return false
      }
    })
  if (!found) throw new Error(`no ${command} of ${home}`)
  return Number(found)
}

describe('billing over kill -9 of every part (process engine)', () => {
  // The idle period is 3 s.
  const installation = new Installation({ LONGSHORE_ENGINE: 'process', LONGSHORE_CLOCK_SCALE: '100' })
  const witness = new Witness()
  let appEnvId = ''
  let host = ''
  beforeAll(async () => {
    const port = await witness.listen()
    await installation.start()
    ;({ appEnvId, host } = await makeFunction(installation, 'billed'))
    await deploy(installation, appEnvId, sampleSource('node:20-alpine', server(port)))
    await untilDeployed(installation, appEnvId)
  })
  afterAll(async () => {
    await installation.dispose()
    witness.close()
  })

  const usage = () => installation.client().call(getAppEnvUsage, { appEnvId })
  const status = () => installation.client().call(getAppEnvStatus, { appEnvId })
  const untilZero = () => untilRead(status, ({ containers }) => containers.running === 0, 'zero containers')
  /** Zero counts what serves: the last one may still be on its way out, and is billed until it is gone. */
  const untilGone = () => {
    const pods = () => installation.client().call(getAppEnvPods, { appEnvId })
    return untilRead(
      pods,
      (read) => read.pods.every(({ finishedAt }) => finishedAt !== null),
      'every end written',
    )
  }
  const answered = () =>
    untilRead(
      () => installation.request(host),
      (answer) => answer.status === 200,
      'an answer',
    )
  const forSeconds = async (seconds: number) => {
    const endMs = performance.now() + seconds * 1000
    await untilRead(
      async () => performance.now(),
      (nowMs) => nowMs > endMs,
      'time going by',
    )
  }

  /** Never more than a second a container above what was seen to live, and no more than that below it. */
  const agrees = async (unseenSeconds = 0) => {
    const { containerSeconds, billedZCloudSeconds } = await usage()
    const lived = witness.seconds
    expect(billedZCloudSeconds).toBe(containerSeconds * 3)
    // Whole seconds of the clock are billed.
    expect(containerSeconds).toBeLessThanOrEqual(lived + 1.5 * witness.lives.size)
    expect(containerSeconds).toBeGreaterThanOrEqual(lived - 1.5 * witness.lives.size - unseenSeconds)
    return containerSeconds
  }

  it('F1 F4 agrees with the lives of the containers, whatever is killed while they run', async () => {
    await answered()
    await installation.end('SIGKILL')
    await forSeconds(1.5)
    await installation.start()
    await answered()
    process.kill(processOf(installation.home, 'gateway'), 'SIGKILL')
    await answered()
    // The log shows the cause of failed requests.
    expect(installation.stderr).toContain('the gateway exited; starting a new one')
    process.kill(processOf(installation.home, 'supervise'), 'SIGKILL')
    await answered()
    await untilZero()
    await agrees()
  })

  it('F1 bills nothing at zero while the platform is killed and started', async () => {
    await untilZero()
    await untilGone()
    const before = await usage()
    await installation.end('SIGKILL')
    await forSeconds(2)
    await installation.start()
    expect(await usage()).toEqual(before)
    process.kill(processOf(installation.home, 'gateway'), 'SIGKILL')
    await forSeconds(1.5)
    expect(await usage()).toEqual(before)
  })

  it('F1 makes up no time for containers that die together with everything that could have seen it', async () => {
    await answered()
    const startedMs = performance.now()
    await untilRead(usage, ({ containerSeconds }) => containerSeconds > 0, 'usage')
    const supervisor = processOf(installation.home, 'supervise')
    const gateway = processOf(installation.home, 'gateway')
    const alive = descendantsOf(supervisor)
    expect(alive.length).toBeGreaterThan(0)
    await installation.end('SIGKILL')
    process.kill(supervisor, 'SIGSTOP')
    for (const pid of [...alive, gateway, supervisor]) process.kill(pid, 'SIGKILL')
    const lifeSeconds = (performance.now() - startedMs) / 1000
    await forSeconds(4)
    await installation.start()
    // The last look was two seconds before at most, and it is billed up to there.
    const billed = await agrees(Math.min(2.5, lifeSeconds))
    await answered()
    await untilZero()
    expect(await agrees(2.5)).toBeGreaterThan(billed)
  })
})
