import { randomBytes } from 'node:crypto'
import net from 'node:net'
import type Docker from 'dockerode'
import { systemClock } from '../../src/clock.ts'
import { findDockerEndpoint } from '../../src/docker-endpoint.ts'
import { createDockerEngine } from '../../src/engines/docker/engine.ts'
import type {
  BuildSpec,
  ContainerSpec,
  Engine,
  EngineContainer,
  EngineLogLine,
} from '../../src/engines/engine.ts'
import { createLog } from '../../src/log.ts'
import { type SourceFiles, sampleDockerfile, sampleServerJs, writeSource } from '../builds/sample-sources.ts'
import { ensureNodeBaseImage, removeInstallation, testDocker } from './docker-images.ts'
import { until } from './suite-installation.ts'

export function randomId(): string {
  return randomBytes(6).toString('hex')
}

const never = new AbortController().signal

/** One installation on the real engine with two images and specs for its tests; removed at the end. */
export class DockerFixture {
  readonly installationId = `test-${randomId()}`
  readonly docker: Docker = testDocker()
  readonly engine: Engine = this.newEngine()
  baseImage = ''
  /** Runs the sample server. */
  server = ''
  /** Runs the JavaScript of the variable CODE. */
  runner = ''

  /** Another engine object, of this installation by default. */
  newEngine(
    options: {
      installationId?: string
      dockerHost?: string
      allowHostAccess?: boolean
      openPorts?: number[]
    } = {},
  ): Engine {
    const log = createLog('docker-test', 'silent')
    return createDockerEngine({ installationId: this.installationId, clock: systemClock, log, ...options })
  }

  async open(): Promise<void> {
    this.baseImage = await ensureNodeBaseImage()
    await this.engine.open()
    const run = `FROM ${this.baseImage}\nCMD ["sh", "-c", "exec node -e \\"$CODE\\""]\n`
    this.runner = (await this.build({ Dockerfile: run })).image
    const server = { Dockerfile: sampleDockerfile(this.baseImage), 'server.js': sampleServerJs }
    this.server = (await this.build(server)).image
  }

  async close(): Promise<void> {
    await this.engine.close()
    await removeInstallation(this.installationId)
  }

  async build(
    files: SourceFiles,
    change: Partial<BuildSpec> = {},
    by = this.engine,
  ): Promise<{ image: string; heard: string[] }> {
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
      const { image } = await by.build(spec, (line) => heard.push(line.message), never)
      return { image, heard }
    } finally {
      await source.remove()
    }
  }

  spec(change: Partial<ContainerSpec> = {}): ContainerSpec {
    const id = randomId()
    return {
      name: `test-${id}`,
      podId: `pod-${id}`,
      appEnvId: `env_${id}`,
      accountId: 'acc_1',
      contentId: `dep_${id}`,
      image: this.server,
      port: 8080,
      env: {},
      cpuMillicores: 500,
      memoryMb: 256,
      internalHost: `host-${id}`,
      ...change,
    }
  }

  /** A spec of a long-running container without a port. */
  idle(change: Partial<ContainerSpec> = {}): ContainerSpec {
    return this.spec({ env: { MODE: 'idle' }, port: null, ...change })
  }

  /** Runs `code` with node in a container and returns its output. */
  async run(code: string, change: Partial<ContainerSpec> = {}): Promise<string[]> {
    const spec = this.spec({ image: this.runner, env: { CODE: code }, port: null, ...change })
    await this.engine.apply(spec)
    await this.ended(spec.name)
    const lines = await this.lines(spec.name)
    await this.engine.remove(spec.name)
    return lines.map((line) => line.message)
  }

  ended(name: string): Promise<EngineContainer> {
    return until(`${name} ended`, async () => {
      return (await this.engine.list()).find((one) => one.name === name && one.state === 'exited') ?? null
    })
  }

  async lines(name: string, since: string | null = null, by = this.engine): Promise<EngineLogLine[]> {
    const lines: EngineLogLine[] = []
    for await (const line of by.logs(name, { since, follow: false, signal: never })) lines.push(line)
    return lines
  }
}

/** A loopback TCP proxy to the engine's socket that can be shut and opened like an engine that restarts. */
export class EngineProxy {
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
    // A connection may be accepted after this.
    this.#server!.on('connection', (late: net.Socket) => late.destroy())
    const closed = new Promise((resolve) => this.#server!.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  get dockerHost(): string {
    return `tcp://127.0.0.1:${this.port}`
  }
}
