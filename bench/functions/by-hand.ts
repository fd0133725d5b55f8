import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import type Docker from 'dockerode'
import { systemClock } from '../../src/clock.ts'
import { findDockerEndpoint } from '../../src/docker-endpoint.ts'
import { createOptions } from '../../src/engines/docker/container-spec.ts'
import type { Address, ContainerSpec } from '../../src/engines/engine.ts'
import { waitUntilListening } from '../../src/engines/wait-until-listening.ts'
import { testDocker } from '../../testkit/engines/docker-images.ts'
import { type Fixture, firstByte } from './fixture.ts'

/** Starts the fixture's container without the platform until it answers; one way a line of the report. */
type ByHand = Record<string, () => Promise<number>>

/**
 * A paused container would respond faster than a new one, but it exists and holds its memory, so F1 rules it out.
 * Measured to know the cost of that rule.
 */
export const pausedWay = 'continue a paused one by hand'

export async function waysByHand(fixture: Fixture): Promise<ByHand> {
  return fixture.engine === 'docker' ? dockerWays(fixture) : processWays(fixture)
}

async function answers(address: Address): Promise<void> {
  const outcome = await waitUntilListening({
    address: () => address,
    stillRunning: () => true,
    timeoutMs: 20_000,
    clock: systemClock,
    signal: new AbortController().signal,
  })
  const { status } = await firstByte(address.port, 'by-hand', '/', address.host)
  if (outcome !== 'listening' || status !== 200) throw new Error(`by hand: ${outcome}, ${status}`)
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now()
  await work()
  return performance.now() - startedMs
}

let nextPort = 8_300

function processWays(fixture: Fixture): ByHand {
  const images = path.join(fixture.installation.home, 'engine', 'images')
  const cwd = path.join(images, readdirSync(images)[0]!, 'root', 'app')
  return {
    async 'spawn by hand'() {
      const port = nextPort++
      let child: ChildProcess | null = null
      const tookMs = await timed(async () => {
        const env = { PATH: process.env.PATH, PORT: String(port) }
        const stdio = ['ignore', 'pipe', 'pipe'] as const
        child = spawn(process.execPath, ['server.js'], { cwd, env, stdio: [...stdio], detached: true })
        await answers({ host: '127.0.0.1', port })
      })
      const ended = new Promise((resolve) => child!.once('exit', resolve))
      child!.kill('SIGKILL')
      await ended
      return tookMs
    },
    async [pausedWay]() {
      const port = nextPort++
      const env = { PATH: process.env.PATH, PORT: String(port) }
      const child = spawn(process.execPath, ['server.js'], { cwd, env, stdio: 'ignore', detached: true })
      await answers({ host: '127.0.0.1', port })
      child.kill('SIGSTOP')
      const tookMs = await timed(async () => {
        child.kill('SIGCONT')
        await answers({ host: '127.0.0.1', port })
      })
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGKILL')
      await ended
      return tookMs
    },
  }
}

/** The very options the platform gives its containers, read off a container of its own. */
async function dockerWays(fixture: Fixture): Promise<ByHand> {
  const docker = testDocker()
  await firstByte(fixture.gatewayPort, fixture.host)
  const own = await docker.listContainers({
    all: true,
    filters: { label: [`longshore.env=${fixture.appEnvId}`] },
  })
  const info = await docker.getContainer(own[0]!.Id).inspect()
  const [network] = Object.keys(info.NetworkSettings.Networks)
  const installationId = info.Config.Labels['longshore.installation']!
  const facts = {
    installationId,
    addressMode: 'container ip',
    hostCpus: 2,
    init: info.HostConfig.Init === true,
    network: network!,
  } as const
  const body = (name: string): Docker.ContainerCreateOptions => ({
    ...createOptions(specByHand(name, info.Image), facts),
    // Without the label of a pod, the platform ignores it.
    Labels: { 'longshore.installation': installationId },
  })
  const answering = async (name: string) => {
    const found = (await call('GET', `/containers/${name}/json`)) as Docker.ContainerInspectInfo
    await answers({ host: Object.values(found.NetworkSettings.Networks)[0]!.IPAddress, port: 8080 })
  }
  const start = async (name: string) => {
    await call('POST', `/containers/${name}/start`)
    await answering(name)
  }
  let made = 0
  const name = () => `longshore-hand-${process.pid}-${made++}`
  const without = async (work: (name: string) => Promise<number>) => {
    const container = name()
    return work(container).finally(() => call('DELETE', `/containers/${container}?force=1&v=1`))
  }
  const create = (container: string) => call('POST', `/containers/create?name=${container}`, body(container))
  return {
    'create + start by hand': () =>
      without((container) =>
        timed(async () => {
          await create(container)
          await start(container)
        }),
      ),
    'start of a created one by hand': () =>
      without(async (container) => {
        await create(container)
        return timed(() => start(container))
      }),
    [pausedWay]: () =>
      without(async (container) => {
        await create(container)
        await start(container)
        await call('POST', `/containers/${container}/pause`)
        return timed(async () => {
          await call('POST', `/containers/${container}/unpause`)
          await answering(container)
        })
      }),
  }
}

function specByHand(name: string, image: string): ContainerSpec {
  const ids = { podId: 'hand', appEnvId: 'hand', accountId: 'hand', contentId: 'hand' }
  const size = { cpuMillicores: 500, memoryMb: 512 }
  return { name, ...ids, image, port: 8080, env: {}, ...size, internalHost: 'hand' }
}

/** One call of the engine's API, nothing between. */
function call(method: string, pathname: string, body?: object): Promise<unknown> {
  const endpoint = findDockerEndpoint()
  const target = endpoint.kind === 'unix' ? { socketPath: endpoint.path } : endpoint
  const payload = body ? JSON.stringify(body) : ''
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }
  return new Promise((resolve, reject) => {
    const request = http.request({ ...target, method, path: pathname, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        if ((response.statusCode ?? 500) >= 400) reject(new Error(`${method} ${pathname}: ${text}`))
        else resolve(text ? JSON.parse(text) : null)
      })
    })
    request.on('error', reject)
    request.end(payload)
  })
}
