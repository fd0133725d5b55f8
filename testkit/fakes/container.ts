import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import type { Clock } from '../../src/clock.ts'
import type {
  ContainerSpec,
  DatabaseSpec,
  EngineContainer,
  EngineLogLine,
  Usage,
} from '../../src/engines/engine.ts'

import { runFakeCommand } from './command.ts'

/** A fake database that sends the greeting of its preset, which is all the platform checks. */
function fakeDatabase({ dockerPreset, primary }: DatabaseSpec): net.Server {
  const answers: Partial<Record<typeof dockerPreset, string>> = {
    POSTGRESQL: 'R',
    REDIS: primary ? '+OK\r\nmaster_link_status:up\r\n' : '+OK\r\n+PONG\r\n',
    RABBITMQ: '\x01',
    COUCHDB: 'HTTP/1.0 200 OK\r\n\r\n',
    CLICKHOUSE: 'HTTP/1.0 200 OK\r\n\r\n',
  }
  return net.createServer((socket) => {
    socket.on('error', () => socket.destroy())
    if (dockerPreset === 'MYSQL') socket.end('\x10\0\0\0\x0a')
    else socket.once('data', () => socket.end(answers[dockerPreset] ?? '', 'latin1'))
  })
}

/** Answers requests of one fake container; `container` lets it log, burn or end as real code would. */
export type FakeProgram = (
  request: http.IncomingMessage,
  response: http.ServerResponse,
  container: FakeContainer,
) => void

/** One container of the fake engine: a real HTTP server on a loopback port, with a life like a process. */
export class FakeContainer {
  readonly spec: ContainerSpec
  readonly lines: EngineLogLine[] = []
  readonly server: net.Server
  /** Files of its volumes, by mount path. */
  mounted = new Map<string, Map<string, string>>()
  readonly #clock: Clock
  readonly #onChange: (name: string) => void
  readonly #ended = new Set<() => void>()
  state: EngineContainer['state'] = 'created'
  #startedAt: string | null = null
  #finishedAt: string | null = null
  #exitCode: number | null = null
  #outOfMemory = false
  #port: number | null = null
  #memoryMb = 40
  #cpuMs = 20
  #lineNumber = 0
  readonly #ownFiles = new Map<string, string>()

  constructor(spec: ContainerSpec, program: FakeProgram, clock: Clock, onChange: (name: string) => void) {
    this.spec = spec
    this.#clock = clock
    this.#onChange = onChange
    this.server = spec.database
      ? fakeDatabase(spec.database)
      : http.createServer((request, response) => program(request, response, this))
  }

  get exited(): boolean {
    return this.state === 'exited'
  }

  /** Its port is known at once, as with a real engine; it answers `listenDelayMs` later. */
  async start(listenDelayMs: number): Promise<void> {
    this.state = 'running'
    this.#startedAt = new Date(this.#clock.wallMs()).toISOString()
    const { MODE, EXIT_CODE, EXIT_TEXT } = this.spec.env
    if (this.spec.command) {
      void runFakeCommand(this, this.spec.command, this.#clock)
      this.#onChange(this.spec.name)
      return
    }
    if (MODE === 'exit') {
      this.log('stderr', EXIT_TEXT ?? 'cannot start: told to exit')
      this.end(Number(EXIT_CODE ?? 1))
    } else if (MODE === 'idle' || this.spec.port === null) {
      this.log('stdout', 'idle')
    } else {
      this.#port = await this.#listen(this.spec.database?.ports[0]?.hostPort ?? 0)
      if (listenDelayMs > 0) await this.#closeServer()
      if (listenDelayMs > 0) this.#clock.after(listenDelayMs, () => this.exited || void this.#listenLate())
      else this.log('stdout', 'listening')
    }
    this.#onChange(this.spec.name)
  }

  /** As SIGTERM, then SIGKILL. */
  async stop(graceSeconds: number): Promise<void> {
    if (this.state !== 'running') return
    if (this.spec.env.ON_TERM !== 'ignore') {
      this.log('stdout', 'stopping')
      this.end(0)
      return
    }
    this.log('stdout', 'ignoring SIGTERM')
    await new Promise<void>((resolve) => {
      this.#clock.after(graceSeconds * 1000, () => {
        this.end(137)
        resolve()
      })
      this.#ended.add(resolve)
    })
  }

  /** Ends it as if its process had: connections are cut, the port is closed, the log stays. */
  end(exitCode: number, outOfMemory = false): void {
    if (this.exited) return
    this.state = 'exited'
    this.#exitCode = exitCode
    this.#outOfMemory = outOfMemory
    this.#finishedAt = new Date(this.#clock.wallMs()).toISOString()
    void this.#closeServer()
    for (const hear of this.#ended) hear()
    this.#onChange(this.spec.name)
  }

  log(stream: 'stdout' | 'stderr', message: string): void {
    const micros = String(this.#lineNumber++ % 1000).padStart(3, '0')
    const millis = new Date(this.#clock.wallMs()).toISOString().slice(0, -1)
    this.lines.push({ timestamp: `${millis}${micros}Z`, stream, message })
  }

  burn(ms: number): void {
    this.#cpuMs += ms
  }

  /** Above its memory it is killed, as by the real engines. */
  hog(megabytes: number): void {
    this.#memoryMb += megabytes
    if (this.#memoryMb > this.spec.memoryMb) this.end(137, true)
  }

  usage(): Usage | null {
    return this.state === 'running' ? { cpuMs: this.#cpuMs, memoryMb: this.#memoryMb } : null
  }

  /** Files of the folder that `DATA_DIR` names: a volume's, or its own, which end with it. */
  get files(): Map<string, string> {
    return this.mounted.get(this.variable('DATA_DIR')) ?? this.#ownFiles
  }

  variable(name: string): string {
    if (name === 'PORT') return String(this.#port ?? '')
    return this.spec.env[name] ?? ''
  }

  view(): EngineContainer {
    const { name, podId, appEnvId } = this.spec
    const isServing = this.state === 'running' && this.#port !== null
    return {
      name,
      podId,
      appEnvId,
      state: this.state,
      startedAt: this.#startedAt,
      finishedAt: this.#finishedAt,
      exitCode: this.#exitCode,
      outOfMemory: this.#outOfMemory,
      address: isServing ? { host: '127.0.0.1', port: this.#port! } : null,
      nodeName: 'fake',
    }
  }

  async #listenLate(): Promise<void> {
    await this.#listen(this.#port!)
    this.log('stdout', 'listening')
  }

  #listen(port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject)
      this.server.listen(port, '127.0.0.1', () => resolve((this.server.address() as AddressInfo).port))
    })
  }

  #closeServer(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => resolve())
      if (this.server instanceof http.Server) this.server.closeAllConnections()
    })
  }
}

/** The same HTTP server as `sampleServerJs`, see testkit/builds/sample-sources.ts. */
export const sampleProgram: FakeProgram = (request, response, container) => {
  const url = new URL(request.url ?? '/', 'http://localhost')
  const value = (name: string) => url.searchParams.get(name) ?? ''
  switch (url.pathname) {
    case '/env':
      return void response.end(container.variable(value('name')))
    case '/log':
      container.log('stdout', value('text'))
      break
    case '/error-log':
      container.log('stderr', value('text'))
      break
    case '/burn':
      container.burn(Number(value('ms')))
      break
    case '/hog':
      container.hog(Number(value('mb')))
      break
    case '/write':
      container.files.set(value('name'), value('text'))
      break
    case '/read':
      return void response.end(container.files.get(value('name')) ?? 'nothing')
    case '/exit':
      return void response.end('ok', () => container.end(Number(value('code'))))
    default:
      return void response.end(`hello from ${container.variable('GREETING') || 'nobody'}`)
  }
  response.end('ok')
}
