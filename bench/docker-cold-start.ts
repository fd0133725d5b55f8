/**
 * Cold start of the docker engine against the engine's own floor, medians of runs taken in turn, and what it
 * costs to keep a container at hand (pause, unpause, stop):
 *
 *   by hand, bare     create + start through the raw API with no limits at all, then connect every 2 ms
 *   by hand, same     the same with the very options the platform uses: the floor of what it asks for
 *   apply             engine.apply() + waitUntilListening
 *   prepared + apply  the same after engine.prepare()
 *
 *   npm run bench -- docker-cold-start [runs]
 */
import { randomBytes } from 'node:crypto'
import http from 'node:http'
import type Docker from 'dockerode'
import { systemClock } from '../src/clock.ts'
import { findDockerEndpoint } from '../src/docker-endpoint.ts'
import { createOptions } from '../src/engines/docker/container-spec.ts'
import { createDockerEngine } from '../src/engines/docker/engine.ts'
import { containerName, networkName } from '../src/engines/docker/names.ts'
import type { Address, ContainerSpec } from '../src/engines/engine.ts'
import { waitUntilListening } from '../src/engines/wait-until-listening.ts'
import { createLog } from '../src/log.ts'
import { ensureNodeBaseImage, removeInstallation, testDocker } from '../testkit/engines/docker-images.ts'

const runs = Number(process.argv[2] ?? 15)
const port = 8080
const installationId = `bench-${randomBytes(4).toString('hex')}`
const engine = createDockerEngine({ installationId, clock: systemClock, log: createLog('bench', 'warn') })
const server = `require('node:net').createServer((s) => s.end()).listen(${port})`

/** One call of the engine's API, nothing between. */
function call(method: string, path: string, body?: object): Promise<unknown> {
  const endpoint = findDockerEndpoint()
  const target = endpoint.kind === 'unix' ? { socketPath: endpoint.path } : endpoint
  const payload = body ? JSON.stringify(body) : ''
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }
  return new Promise((resolve, reject) => {
    const request = http.request({ ...target, method, path, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        if ((response.statusCode ?? 500) >= 400) reject(new Error(`${method} ${path}: ${text}`))
        else resolve(text ? JSON.parse(text) : null)
      })
    })
    request.on('error', reject)
    request.end(payload)
  })
}

function makeSpec(image: string): ContainerSpec {
  const id = randomBytes(6).toString('hex')
  return {
    name: `bench-${id}`,
    podId: `pod-${id}`,
    appEnvId: 'bench-env',
    accountId: 'bench-account',
    contentId: 'bench-content',
    image,
    port,
    env: {},
    cpuMillicores: 1000,
    memoryMb: 512,
    internalHost: 'bench',
  }
}

async function listening(address: Address | null): Promise<void> {
  const outcome = await waitUntilListening({
    address: () => address,
    stillRunning: () => true,
    timeoutMs: 20_000,
    clock: systemClock,
    signal: new AbortController().signal,
  })
  if (outcome !== 'listening') throw new Error(`the container did not listen: ${outcome}`)
}

async function byHand(spec: ContainerSpec, body: object): Promise<void> {
  const name = containerName(spec.name)
  await call('POST', `/containers/create?name=${name}`, body)
  await call('POST', `/containers/${name}/start`)
  const found = (await call('GET', `/containers/${name}/json`)) as Docker.ContainerInspectInfo
  const [network] = Object.values(found.NetworkSettings.Networks)
  await listening({ host: network!.IPAddress, port })
}

async function timed(task: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await task()
  return performance.now() - startMs
}

async function measure(image: string, samples: Map<string, number[]>): Promise<void> {
  const note = (what: string, ms: number) => samples.set(what, [...(samples.get(what) ?? []), ms])
  const facts = { installationId, addressMode: 'container ip', hostCpus: 64, init: true } as const
  const network = networkName(installationId, 'bench-account')
  const spec = makeSpec(image)
  const kinds: [string, () => Promise<unknown>, (() => Promise<unknown>)?][] = [
    [
      'by hand, bare',
      () => byHand(spec, { Image: image, Labels: { 'longshore.installation': installationId } }),
    ],
    ['by hand, same', () => byHand(spec, createOptions(spec, { ...facts, hostCpus: 1, network }))],
    ['apply', async () => listening((await engine.apply(spec)).address)],
    [
      'prepared + apply',
      async () => listening((await engine.apply(spec)).address),
      () => engine.prepare!(spec),
    ],
  ]
  for (const [what, task, before] of kinds) {
    if (before) note('prepare itself', await timed(before))
    note(what, await timed(task))
    if (what === 'apply') {
      const name = containerName(spec.name)
      note('pause', await timed(() => call('POST', `/containers/${name}/pause`)))
      note('unpause', await timed(() => call('POST', `/containers/${name}/unpause`)))
      note('stop (exits on SIGTERM)', await timed(() => engine.stop(spec.name, 5)))
    }
    await engine.remove(spec.name)
  }
}

async function main(): Promise<void> {
  const base = await ensureNodeBaseImage()
  await engine.open()
  const docker = testDocker()
  const holder = await docker.createContainer({ Image: base, Cmd: ['node', '-e', server] })
  const made = await holder.commit({ repo: 'longshore-bench', tag: 'server' })
  await holder.remove()
  const samples = new Map<string, number[]>()
  try {
    // The first turn warms caches and makes the network; it does not count.
    await engine.apply(makeSpec(made.Id))
    await measure(made.Id, new Map())
    for (let run = 0; run < runs; run++) await measure(made.Id, samples)
  } finally {
    await engine.close()
    await removeInstallation(installationId)
    await docker.getImage('longshore-bench:server').remove({ force: true })
  }
  for (const [what, all] of samples) {
    const sorted = all.sort((a, b) => a - b)
    const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)]!.toFixed(0).padStart(5)
    process.stdout.write(
      `${what.padEnd(26)} median ${at(0.5)} ms   p10 ${at(0.1)}   p90 ${at(0.9)}   n=${all.length}\n`,
    )
  }
}

await main()
