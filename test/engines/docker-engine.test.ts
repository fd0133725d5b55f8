import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import net from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { createDockerEngine } from '../../src/engines/docker/docker-engine.ts'
import { dockerSocketAnswers, findDockerEndpoint } from '../../src/engines/docker/docker-socket.ts'
import { containerName } from '../../src/engines/docker/docker-spec.ts'
import type { BuildSpec, ContainerSpec, Engine, EngineLogLine } from '../../src/engines/engine.ts'
import { createLog } from '../../src/log.ts'
import { ensureNodeBaseImage, removeInstallation, testDocker } from '../support/docker-images.ts'
import { startRegistry } from '../support/docker-registry.ts'
import { type SourceFiles, sampleDockerfile, sampleServerJs, writeSource } from '../support/sample-sources.ts'
import { until } from './engine-suite.ts'

const present = await dockerSocketAnswers(undefined, 3_000)
const log = createLog('docker-test', 'silent')
const never = new AbortController().signal

function randomId(): string {
  return randomBytes(6).toString('hex')
}

/** A loopback TCP door to the engine's socket that can be shut and opened like an engine that restarts. */
class EngineDoor {
  readonly #sockets = new Set<net.Socket>()
  #server: net.Server | null = null
  port = 0

  async open(): Promise<void> {
    const endpoint = findDockerEndpoint()
    const target = endpoint.kind === 'unix' ? { path: endpoint.path } : endpoint
    this.#server = net.createServer((near) => {
      const far = net.connect(target)
      for (const socket of [near, far]) {
        this.#sockets.add(socket)
        socket.on('error', () => {})
        socket.on('close', () => this.#sockets.delete(socket))
      }
      near.pipe(far).pipe(near)
      near.on('close', () => far.destroy())
      far.on('close', () => near.destroy())
    })
    await new Promise<void>((resolve) => this.#server!.listen(this.port, '127.0.0.1', resolve))
    this.port = (this.#server.address() as net.AddressInfo).port
  }

  async shut(): Promise<void> {
    const closed = new Promise((resolve) => this.#server!.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  get dockerHost(): string {
    return `tcp://127.0.0.1:${this.port}`
  }
}

describe('an engine that is away', () => {
  const away = (dockerHost: string) =>
    createDockerEngine({ installationId: 'away', dockerHost, clock: systemClock, log })

  it('is unavailable on every verb, with how to bring it back', async () => {
    const engine = away('unix:///nonexistent/docker.sock')
    const attempts = [
      engine.open(),
      engine.list(),
      engine.stop('x', 1),
      engine.usage('x'),
      engine.pull('x', () => {}, never),
    ]
    for (const attempt of attempts) {
      await expect(attempt).rejects.toMatchObject({
        kind: 'unavailable',
        message: 'The container engine does not answer',
        details: expect.stringContaining('systemctl start docker'),
      })
    }
    await engine.close()
  })

  it('refuses an engine on another machine, and one whose address makes no sense', async () => {
    for (const host of ['tcp://192.0.2.1:2375', 'ssh://box', 'nonsense', 'unix://relative']) {
      await expect(away(host).open()).rejects.toMatchObject({ kind: 'invalid' })
      expect(await dockerSocketAnswers(host)).toBe(false)
    }
  })

  it('is not taken for one that answers', async () => {
    const silent = net.createServer(() => {})
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const { port } = silent.address() as net.AddressInfo
    const startMs = performance.now()
    expect(await dockerSocketAnswers(`tcp://127.0.0.1:${port}`)).toBe(false)
    expect(performance.now() - startMs).toBeLessThan(2_000)
    silent.close()
  })

  it('is looked for where engines usually listen', () => {
    const at = (env: Record<string, string>, ...sockets: string[]) =>
      findDockerEndpoint(undefined, { env, homeDir: '/home/a', exists: (file) => sockets.includes(file) })
    expect(at({}, '/home/a/.docker/run/docker.sock')).toMatchObject({
      path: '/home/a/.docker/run/docker.sock',
    })
    expect(at({ XDG_RUNTIME_DIR: '/run/u' }, '/run/u/podman/podman.sock')).toMatchObject({
      path: '/run/u/podman/podman.sock',
    })
    expect(at({})).toMatchObject({ path: '/var/run/docker.sock' })
    expect(at({ DOCKER_HOST: 'tcp://[::1]:2375' })).toEqual({ kind: 'tcp', host: '::1', port: 2375 })
    expect(at({ DOCKER_HOST: 'unix:///x.sock' }, '/var/run/docker.sock')).toEqual({
      kind: 'unix',
      path: '/x.sock',
    })
  })
})

const title = present
  ? 'the docker engine'
  : 'the docker engine (absent: no engine answers on the Docker socket)'

describe.skipIf(!present)(title, () => {
  const installationId = `test-${randomId()}`
  const docker = testDocker()
  let engine: Engine
  let baseImage = ''
  let server = ''
  let runner = ''

  beforeAll(async () => {
    baseImage = await ensureNodeBaseImage()
    engine = createDockerEngine({ installationId, clock: systemClock, log })
    await engine.open()
    runner = (
      await build({ Dockerfile: `FROM ${baseImage}\nCMD ["sh", "-c", "exec node -e \\"$CODE\\""]\n` })
    ).image
    server = (await build({ Dockerfile: sampleDockerfile(baseImage), 'server.js': sampleServerJs })).image
  })

  afterAll(async () => {
    await engine.close()
    await removeInstallation(installationId)
  })

  async function build(files: SourceFiles, change: Partial<BuildSpec> = {}) {
    const source = await writeSource(files)
    const heard: string[] = []
    const spec: BuildSpec = {
      appEnvId: `env_${randomId()}`,
      contentId: `dep_${randomId()}`,
      sourceDir: source.dir,
      contextDir: '.',
      dockerfilePath: 'Dockerfile',
      dockerfileContent: null,
      buildArgs: {},
      secretBuildArgs: [],
      ...change,
    }
    try {
      const { image } = await engine.build(spec, (line) => heard.push(line.message), never)
      return { image, heard, spec }
    } finally {
      await source.remove()
    }
  }

  function makeSpec(change: Partial<ContainerSpec> = {}): ContainerSpec {
    const id = randomId()
    return {
      name: `test-${id}`,
      podId: `pod-${id}`,
      appEnvId: `env_${id}`,
      accountId: 'acc_1',
      contentId: `dep_${id}`,
      template: 't',
      image: server,
      port: 8080,
      env: {},
      cpuMillicores: 500,
      memoryMb: 256,
      internalHost: `host-${id}`,
      ...change,
    }
  }

  /** Runs `code` with node in a container and answers what it printed. */
  async function run(code: string, change: Partial<ContainerSpec> = {}): Promise<string[]> {
    const spec = makeSpec({ image: runner, env: { CODE: code }, port: null, ...change })
    await engine.apply(spec)
    await ended(spec.name)
    const lines = await collect(engine, spec.name)
    await engine.remove(spec.name)
    return lines.map((line) => line.message)
  }

  function ended(name: string) {
    return until(
      `${name} ended`,
      async () => (await engine.list()).find((one) => one.name === name && one.state === 'exited') ?? null,
    )
  }

  async function collect(by: Engine, name: string, since: string | null = null): Promise<EngineLogLine[]> {
    const lines: EngineLogLine[] = []
    for await (const line of by.logs(name, { since, follow: false, signal: never })) lines.push(line)
    return lines
  }

  it('leaves a container few privileges and hard limits, as the kernel sees them', async () => {
    const code = `
      const fs = require('fs')
      const status = fs.readFileSync('/proc/self/status', 'utf8')
      console.log(status.match(/CapBnd:\\s*(\\w+)/)[1])
      console.log(status.match(/NoNewPrivs:\\s*(\\d)/)[1])
      console.log(fs.existsSync('/var/run/docker.sock'))
      console.log(process.pid)`
    const [bounding, noNewPrivileges, socket, pid] = await run(code)
    // CHOWN 0, DAC_OVERRIDE 1, FOWNER 3, KILL 5, SETGID 6, SETUID 7, NET_BIND_SERVICE 10.
    expect(BigInt(`0x${bounding}`)).toBe(0b100_1110_1011n)
    expect(noNewPrivileges).toBe('1')
    expect(socket).toBe('false')
    expect(Number(pid)).toBeGreaterThan(1)
  })

  it('lets containers of one account find each other by internal name, and no others', async () => {
    const spec = makeSpec({ internalHost: 'backend' })
    await engine.apply(spec)
    const address = await until('it has an address', async () => {
      return (await engine.list()).find((one) => one.name === spec.name)?.address ?? null
    })
    const code = (target: string) => `
      const http = require('http')
      const started = Date.now()
      const ask = () => http.get({ host: '${target}', port: 8080, timeout: 1000 }, (r) => r.on('data', (d) => console.log(String(d))))
        .on('timeout', function () { this.destroy(new Error('timeout')) })
        .on('error', (e) => (e.code === 'ECONNREFUSED' && Date.now() < started + 5000 ? setTimeout(ask, 20) : console.log('no: ' + (e.code ?? e.message))))
      ask()`
    expect(await run(code('backend'))).toEqual(['hello from nobody'])
    const [byName] = await run(code('backend'), { accountId: 'acc_2' })
    const [byAddress] = await run(code(address.host), { accountId: 'acc_2' })
    expect(byName).toMatch(/^no: (?:ENOTFOUND|EAI_AGAIN)/)
    expect(byAddress).toMatch(/^no: (?:timeout|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)/)
    await engine.remove(spec.name)
  })

  it('makes one network for an account, however many containers and control planes ask at once', async () => {
    const other = createDockerEngine({ installationId, clock: systemClock, log })
    const specs = Array.from({ length: 4 }, () =>
      makeSpec({ accountId: 'acc_race', env: { MODE: 'idle' }, port: null }),
    )
    await Promise.all(specs.map((spec, index) => (index % 2 ? other : engine).prepare!(spec)))
    const filters = { label: ['longshore.account=acc_race', `longshore.installation=${installationId}`] }
    const networks = await docker.listNetworks({ filters })
    expect(networks).toHaveLength(1)
    expect(networks[0]?.IPAM?.Config?.[0]?.Subnet).toMatch(/^10\.213\.\d+\.0\/24$/)
    for (const spec of specs) await engine.remove(spec.name)
    await other.close()
  })

  it('makes the network again when somebody removed it under a prepared container', async () => {
    const spec = makeSpec({ accountId: 'acc_pruned', env: { MODE: 'idle' }, port: null })
    await engine.prepare!(spec)
    const filters = { label: ['longshore.account=acc_pruned', `longshore.installation=${installationId}`] }
    for (const one of await docker.listNetworks({ filters })) await docker.getNetwork(one.Id).remove()
    expect(await engine.apply(spec)).toMatchObject({ name: spec.name, state: 'running' })
    await engine.remove(spec.name)
  })

  it('lists only what it made, and touches nothing of another installation', async () => {
    const spec = makeSpec({ env: { MODE: 'idle' }, port: null })
    await engine.apply(spec)
    const stranger = createDockerEngine({ installationId: `other-${randomId()}`, clock: systemClock, log })
    expect(await stranger.list()).toEqual([])
    await stranger.stop(spec.name, 0)
    await stranger.remove(spec.name)
    expect(await collect(stranger, spec.name)).toEqual([])
    await expect(stranger.apply(spec)).rejects.toMatchObject({ kind: 'conflict' })
    expect(await engine.list()).toMatchObject([{ name: spec.name, state: 'running' }])
    await engine.remove(spec.name)
    await stranger.forgetEnvironment('none')
    await stranger.close()
  })

  it('says what is wrong with an image that cannot be started, and leaves nothing behind', async () => {
    const rows: [string, RegExp][] = [
      [`FROM ${baseImage}\nUSER nobody-here\nCMD ["node"]\n`, /nobody-here/],
      ['FROM scratch\nCOPY Dockerfile /\n', /no CMD and no ENTRYPOINT/],
    ]
    for (const [dockerfile, said] of rows) {
      const { image } = await build({ Dockerfile: dockerfile })
      const spec = makeSpec({ image })
      await expect(engine.apply(spec)).rejects.toMatchObject({
        reason: 'exited',
        message: expect.stringMatching(said),
      })
      expect((await engine.list()).map((one) => one.name)).not.toContain(spec.name)
    }
    await expect(engine.apply(makeSpec({ image: 'longshore/gone:1' }))).rejects.toMatchObject({
      reason: 'image pull',
    })
  })

  it('keeps full times in the log, so that reading on loses and doubles nothing', async () => {
    const code = `for (let i = 0; i < 500; i++) console.log('line ' + i); console.log('x'.repeat(100_000)); console.log('end')`
    const spec = makeSpec({ image: runner, env: { CODE: code }, port: null })
    await engine.apply(spec)
    await ended(spec.name)
    const all = await collect(engine, spec.name)
    expect(all).toHaveLength(502)
    expect(all[500]?.message).toMatch(/^x+ … \[line cut at 8 KiB\]$/)
    for (const index of [0, 123, 499, 500, 501]) {
      const rest = await collect(engine, spec.name, all[index]!.timestamp)
      expect(rest).toEqual(all.slice(index + 1))
    }
    await engine.remove(spec.name)
  })

  it('keeps a secret build variable out of history, layers and settings, and the settings else', async () => {
    const dockerfile = [
      `FROM ${baseImage}`,
      'ARG TOKEN',
      'WORKDIR /app',
      'ENV COPIED=$TOKEN KEPT="a b$"',
      'RUN echo $TOKEN > token && rm token && echo made > made.txt',
      'EXPOSE 1234',
      'USER node',
      'STOPSIGNAL SIGINT',
      'ENTRYPOINT ["node"]',
      "CMD [\"-e\", \"console.log(process.env.KEPT, process.env.COPIED, require('fs').readFileSync('made.txt', 'utf8').trim())\"]",
    ].join('\n')
    const secret = `hunter-${randomId()}`
    const before = await imageIds()
    const { image, heard } = await build(
      { Dockerfile: dockerfile },
      { buildArgs: { TOKEN: secret }, secretBuildArgs: [secret] },
    )
    const { Id, Config, RootFS } = await docker.getImage(image).inspect()
    expect(JSON.stringify([Config, await docker.getImage(image).history(), heard])).not.toContain(secret)
    expect(RootFS?.Layers?.length).toBeLessThanOrEqual(2)
    expect(Config).toMatchObject({
      User: 'node',
      WorkingDir: '/app',
      ExposedPorts: { '1234/tcp': {} },
      Entrypoint: ['node'],
      Labels: { 'longshore.installation': installationId },
    })
    expect((Config as { StopSignal?: string }).StopSignal).toBe('SIGINT')
    expect(heard.join('\n')).toContain('ENV COPIED is left out')
    // Nothing that shows it stays on the engine either: the one new image with no name is the flat layer.
    for (const id of (await imageIds()).filter((one) => !before.includes(one))) {
      const history = await docker
        .getImage(id)
        .history()
        .catch(() => null)
      expect(JSON.stringify(history)).not.toContain(secret)
    }
    const spec = makeSpec({ image, port: null })
    await engine.apply(spec)
    const [line] = await until('it spoke', async () => {
      const lines = await collect(engine, spec.name)
      return lines.length > 0 ? lines : null
    })
    expect(line?.message).toBe('a b$ undefined made')
    await engine.remove(spec.name)
    await engine.removeImage(image)
    expect(await docker.listImages({ filters: { reference: [Id] } })).toEqual([])
  })

  /** Other builds may go on on the same engine; only images whose history shows `marker` count. */
  async function unnamedMadeWith(marker: string): Promise<string[]> {
    const found: string[] = []
    for (const { Id } of await docker.listImages({ filters: { dangling: ['true'] } })) {
      const history = await docker
        .getImage(Id)
        .history()
        .catch(() => null)
      if (JSON.stringify(history).includes(marker)) found.push(Id)
    }
    return found
  }

  async function imageIds(): Promise<string[]> {
    return (await docker.listImages({ all: true })).map((image) => image.Id)
  }

  it('leaves no unnamed image behind, whether builds succeed or fail, and forgets all of an environment', async () => {
    const appEnvId = `env_${randomId()}`
    const marker = randomId()
    const twoStages = `FROM ${baseImage} AS one\nRUN echo ${marker} > /one\nFROM ${baseImage}\nCOPY --from=one /one /two\nCMD ["node"]\n`
    await build({ Dockerfile: twoStages }, { appEnvId })
    await build({ Dockerfile: `${twoStages}RUN echo again\n` }, { appEnvId })
    await expect(
      build({ Dockerfile: `FROM ${baseImage}\nRUN echo ${marker}\nRUN exit 3\n` }, { appEnvId }),
    ).rejects.toMatchObject({
      reason: 'build step',
    })
    expect(await unnamedMadeWith(marker)).toEqual([])
    await engine.forgetEnvironment(appEnvId)
    const named = (await docker.listImages()).flatMap((one) => one.RepoTags ?? [])
    expect(named.filter((name) => name.includes(appEnvId))).toEqual([])
    expect(
      await docker.listContainers({ all: true, filters: { status: ['created'], ancestor: [baseImage] } }),
    ).toEqual([])
  })

  it('says image pull when FROM names an image nobody has', async () => {
    await expect(build({ Dockerfile: 'FROM 127.0.0.1:1/nobody/nothing:1\n' })).rejects.toMatchObject({
      reason: 'image pull',
      message: expect.stringContaining('127.0.0.1:1/nobody/nothing:1'),
    })
  })

  it('pulls nothing that is here, and refuses the image of another environment and a bare id', async () => {
    await engine.pull(baseImage, () => {}, never)
    const { Id } = await docker.getImage(server).inspect()
    for (const reference of [server, Id.replace('sha256:', '').slice(0, 12)]) {
      await expect(engine.pull(reference, () => {}, never)).rejects.toMatchObject({ reason: 'image pull' })
    }
  })

  it('never removes an image it did not build', async () => {
    await engine.removeImage(baseImage)
    expect(await docker.listImages({ filters: { reference: [baseImage] } })).toHaveLength(1)
  })

  it.skipIf(!existsSync('/usr/bin/docker-registry'))(
    'pulls from a registry with progress (skipped where no docker-registry is installed)',
    async () => {
      const registry = await startRegistry()
      try {
        const [repo, tag] = [`${registry.address}/team/app`, '1.0']
        const reference = `${repo}:${tag}`
        const { image } = await build({ Dockerfile: 'FROM scratch\nCOPY . /\n', marker: randomId() })
        await docker.getImage(image).tag({ repo, tag })
        await finished(await docker.getImage(reference).push({ authconfig: {} } as object))
        await docker.getImage(reference).remove()
        await docker.getImage(image).remove()
        const heard: string[] = []
        await expect(engine.pull(`${registry.address}/team/app:2.0`, () => {}, never)).rejects.toMatchObject({
          reason: 'image pull',
          message: expect.stringContaining('2.0'),
        })
        await engine.pull(reference, (line) => heard.push(line.message), never)
        expect(heard.join('\n')).toContain('Pull complete')
        // Its labels came along; a name in a registry is for all nevertheless.
        await engine.pull(reference, () => {}, never)
        await docker.getImage(reference).remove()
      } finally {
        await registry.stop()
      }
    },
  )

  function finished(progress: NodeJS.ReadableStream): Promise<unknown> {
    return new Promise((resolve, reject) => {
      docker.modem.followProgress(progress, (error, output) => (error ? reject(error) : resolve(output)))
    })
  }

  it('goes on by itself after the engine was away, with hints of what is there', async () => {
    const door = new EngineDoor()
    await door.open()
    const remote = createDockerEngine({
      installationId,
      dockerHost: door.dockerHost,
      clock: systemClock,
      log,
    })
    const spec = makeSpec({ env: { MODE: 'idle' }, port: null })
    const hints: string[] = []
    const unwatch = remote.watch((name) => hints.push(name))
    await remote.apply(spec)
    await until('a first hint came', () => hints.includes(spec.name) || null)
    await door.shut()
    await expect(remote.list()).rejects.toMatchObject({ kind: 'unavailable' })
    hints.length = 0
    await door.open()
    await until('a hint came again', () => hints.includes(spec.name) || null)
    expect(await remote.list()).toMatchObject([{ name: spec.name, state: 'running' }])
    await docker.getContainer(containerName(spec.name)).kill()
    await until('the end shows', async () => (await remote.list())[0]?.state === 'exited' || null)
    unwatch()
    await remote.remove(spec.name)
    await remote.close()
    await door.shut()
  })

  it('reaches a container through a published port where it is not on this kernel', async () => {
    const door = new EngineDoor()
    await door.open()
    const remote = createDockerEngine({
      installationId,
      dockerHost: door.dockerHost,
      clock: systemClock,
      log,
    })
    const spec = makeSpec({ env: { GREETING: 'behind a door' } })
    const { address } = await remote.apply(spec)
    expect(address?.host).toBe('127.0.0.1')
    const answer = await until('it answers', () =>
      fetch(`http://127.0.0.1:${address!.port}/`, { signal: AbortSignal.timeout(2_000) }).then(
        (response) => response.text(),
        () => null,
      ),
    )
    expect(answer).toBe('hello from behind a door')
    await remote.remove(spec.name)
    await remote.close()
    await door.shut()
  })
})
