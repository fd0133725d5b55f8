import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import net from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findDockerEndpoint } from '../../../../src/docker-endpoint.ts'
import type { Engine } from '../../../../src/engines/engine.ts'
import { type SourceFiles, writeSource } from '../../../../testkit/builds/sample-sources.ts'
import { dockerAvailable } from '../../../../testkit/engines/docker-available.ts'
import { DockerFixture } from '../../../../testkit/engines/docker-fixture.ts'

/** A proxy between the platform and the engine that can drop connections. */
class Between {
  /** Requests that reached the engine, such as `POST /build`. */
  readonly requests: string[] = []
  readonly #toEngine = new Set<net.Socket>()
  readonly #server = net.createServer({ allowHalfOpen: true }, (client) => this.#join(client))

  async open(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `tcp://127.0.0.1:${(this.#server.address() as net.AddressInfo).port}`
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#toEngine) socket.destroy()
  }

  /** The engine takes the platform for gone, and says so on a way back that is still open. */
  lose(): void {
    for (const socket of this.#toEngine) socket.end()
  }

  #join(client: net.Socket): void {
    const endpoint = findDockerEndpoint(undefined)
    const target =
      endpoint.kind === 'unix' ? { path: endpoint.path } : { host: endpoint.host, port: endpoint.port }
    const engine = net.connect({ ...target, allowHalfOpen: true })
    this.#toEngine.add(engine)
    client.once('data', (chunk) => {
      const [, method, path] = /^(\w+) (?:\/v[\d.]+)?(\/\w+)/.exec(chunk.toString('latin1')) ?? []
      this.requests.push(`${method} ${path}`)
    })
    for (const [one, other] of [
      [client, engine],
      [engine, client],
    ] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
    }
    client.pipe(engine)
    engine.pipe(client)
  }
}

const absent = !dockerAvailable

describe.skipIf(absent)('docker: a build and the connection to the engine', () => {
  const fixture = new DockerFixture()
  const between = new Between()
  let engine: Engine
  beforeAll(async () => {
    await fixture.open()
    engine = fixture.newEngine({ dockerHost: await between.open() })
    await engine.open()
  })
  afterAll(async () => {
    await engine.close()
    between.close()
    await fixture.close()
  })

  /** Builds, and calls back at each line of the log. */
  async function build(files: SourceFiles, onLine: (message: string) => void = () => {}): Promise<string[]> {
    const source = await writeSource(files)
    const heard: string[] = []
    const id = randomBytes(6).toString('hex')
    const spec = {
      appEnvId: `env_${id}`,
      contentId: `dep_${id}`,
      sourceDir: source.dir,
      contextDir: '.',
      dockerfilePath: 'Dockerfile',
      dockerfileContent: null,
      buildArgs: {},
      secretBuildArgs: [],
    }
    const onLog = ({ message }: { message: string }) => {
      heard.push(message)
      onLine(message)
    }
    try {
      await engine.build(spec, onLog, new AbortController().signal)
      return heard
    } finally {
      await source.remove()
    }
  }

  it('a loss while a step runs builds again, once, and succeeds', async () => {
    let losses = 0
    const marker = randomBytes(6).toString('hex')
    const heard = await build(
      { Dockerfile: `FROM ${fixture.baseImage}\nRUN echo begun ${marker} && sleep 6\nCMD ["x"]\n` },
      (message) => {
        if (message !== `begun ${marker}` || losses > 0) return
        losses += 1
        between.lose()
      },
    )
    expect(losses).toBe(1)
    expect(heard.filter((message) => message === `begun ${marker}`)).toHaveLength(2)
    expect(heard.filter((message) => message.endsWith('building again.'))).toHaveLength(1)
  })

  it('a loss while the source is sent is not the fault of the source', async () => {
    const part = randomBytes(4_000_000).toString('hex')
    const files: SourceFiles = { Dockerfile: `FROM ${fixture.baseImage}\nCMD ["x"]\n` }
    for (let index = 0; index < 8; index += 1) files[`part${index}`] = part
    const before = between.requests.length
    const attempt = build(files)
    const ended = attempt.then(
      () => true,
      () => true,
    )
    const watch = (async () => {
      while (!between.requests.slice(before).includes('POST /build')) {
        if ((await Promise.race([ended, new Promise((resolve) => setImmediate(resolve))])) === true) return
      }
      between.lose()
    })()
    // What is unavailable is tried again by the platform; anything else ends the deployment.
    await expect(attempt).rejects.toMatchObject({ kind: 'unavailable' })
    await watch
  })

  it('a step that always ends with 137 fails the build, after one more try, also if another container runs out of memory', async () => {
    const marker = randomBytes(6).toString('hex')
    const heard: string[] = []
    const step = `RUN echo begun ${marker} && sleep 4 && exit 137`
    const Dockerfile = `FROM ${fixture.baseImage}\n${step}\nCMD ["x"]\n`
    const hog = 'const kept = []; for (;;) kept.push(Buffer.alloc(10_000_000, 1))'
    const spec = fixture.spec({ image: fixture.runner, env: { CODE: hog }, port: null, memoryMb: 128 })
    const hogged = fixture.engine.apply(spec).then(() => fixture.ended(spec.name))
    await expect(build({ Dockerfile }, (message) => heard.push(message))).rejects.toMatchObject({
      reason: 'build step',
    })
    expect(heard.filter((message) => message === `begun ${marker}`)).toHaveLength(2)
    expect(await hogged).toMatchObject({ outOfMemory: true })
    await fixture.engine.remove(spec.name)
  })

  it('a Dockerfile that grows without end never reaches the engine', async () => {
    const growing = [
      `ARG W0=${'x'.repeat(100)}`,
      ...[1, 2, 3].map((at) => `ARG W${at}=${`$W${at - 1}`.repeat(90)}`),
    ]
    const before = between.requests.length
    const Dockerfile = `${growing.join('\n')}\nFROM ${fixture.baseImage}\n`
    await expect(build({ Dockerfile })).rejects.toMatchObject({
      reason: 'build step',
      message: expect.stringContaining('64 KiB'),
    })
    expect(between.requests.slice(before)).not.toContain('POST /build')
  })

  it('what a base image brings along is known before the engine expands it', async () => {
    const triggers = ['ENV A=xx', ...Array.from({ length: 40 }, () => 'ENV A=$A$A')]
    const base = await fixture.build({
      Dockerfile: `FROM ${fixture.baseImage}\n${triggers.map((line) => `ONBUILD ${line}`).join('\n')}\n`,
    })
    const name = `${fixture.installationId.toLowerCase()}-growing`
    await fixture.docker.getImage(base.image).tag({ repo: name, tag: '1' })
    const before = between.requests.length
    try {
      await expect(build({ Dockerfile: `FROM ${name}:1\nCMD ["x"]\n` })).rejects.toThrow(/64 KiB/)
      expect(between.requests.slice(before)).not.toContain('POST /build')
    } finally {
      await fixture.docker.getImage(`${name}:1`).remove()
    }
  })
})
