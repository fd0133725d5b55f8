import { expect } from 'vitest'
import { tgz } from '../platform/deploy.ts'
import { randomOf } from '../random.ts'
import { untilRead } from '../until.ts'
import { isPending, type ModelEnvironment, PlatformModel, shown } from './environment-model.ts'

// biome-ignore lint/suspicious/noExplicitAny: answers are read by their parts
type Answer = any
export interface Installed {
  accountId: string
  region: string
  ask(
    method: string,
    path: string,
    input?: Record<string, unknown>,
    headers?: Record<string, string>,
  ): Promise<{ status: number; json: Answer }>
  /** The control plane ends, gently or not, and another one takes over. */
  restart(): Promise<void>
  /** The variables of each running container of an environment. */
  running(environment: ModelEnvironment): Promise<Record<string, string>[]>
}

/** A program that answers with its variables. */
const program = `require('http').createServer((request, response) => response.end(JSON.stringify(process.env))).listen(process.env.PORT)`
const source = {
  Dockerfile: 'FROM node:20-alpine\nCOPY . .\nCMD ["node", "server.js"]\n',
  'server.js': program,
}

/** Does `steps` random things to a platform and to the model of it, and compares the two after each. */
export class RandomScenario {
  readonly model = new PlatformModel()
  readonly log: string[] = []
  readonly #on: Installed
  readonly #random: () => number
  #names = 0

  constructor(on: Installed, seed: number) {
    this.#on = on
    this.#random = randomOf(seed)
  }

  async run(steps: number): Promise<void> {
    await this.#create(true)
    await this.#create(false)
    for (let step = 0; step < steps; step += 1) {
      const environment = this.#pick([...this.model.environments.values()])
      await this.#step(environment)
      await this.#compare()
    }
  }

  /** In the end everything runs as the model says, with the variables the model says. */
  async converge(): Promise<void> {
    for (const environment of this.model.environments.values()) {
      const { appEnvId, deployed, stopped, applied } = environment
      const runs = deployed && !stopped
      await untilRead(
        async () => (await this.#on.ask('GET', '/app-env/status', { appEnvId })).json,
        ({ status, containers }: Answer) => {
          if (!runs) return status === 'STOPPED' && containers.running === 0
          const enough = environment.isFunction || containers.running === applied.containers
          return status === 'RUNNING' && enough
        },
        `${appEnvId} ${runs ? 'running' : 'stopped'}`,
      )
      const wanted = Object.fromEntries([...applied.variables].map(([name, { value }]) => [name, value]))
      await untilRead(
        () => this.#on.running(environment),
        (containers) =>
          (runs
            ? environment.isFunction || containers.length === applied.containers
            : containers.length === 0) &&
          containers.every((seen) => names.every((name) => seen[name] === wanted[name])),
        `containers of ${appEnvId} with ${JSON.stringify(wanted)}`,
      )
    }
  }

  async #step(environment: ModelEnvironment | undefined): Promise<void> {
    if (!environment) return this.#create(this.#random() < 0.5)
    const kinds = [
      'set',
      'set',
      'remove',
      'size',
      'rename',
      'scale',
      'deploy',
      'apply',
      'apply',
      'stop',
      'start',
    ]
    const kind = this.#pick([...kinds, 'rehearse', 'stale', 'repeat', 'restart', 'delete'])
    if (kind !== 'restart') this.log.push(`${kind} ${environment.appEnvId}`)
    switch (kind) {
      case 'set':
      case 'remove':
        return this.#variables(environment, kind === 'set')
      case 'size':
        return this.#size(environment)
      case 'rename':
        return this.#rename(environment)
      case 'scale':
        return environment.isFunction ? this.#configure(environment) : this.#scale(environment)
      case 'deploy':
        return this.#deploy(environment)
      case 'apply':
        await this.#ok('POST', '/app-env/apply-changes', { appEnvId: environment.appEnvId })
        return this.model.applied(environment)
      case 'stop':
      case 'start':
        return this.#startOrStop(environment, kind)
      case 'restart':
        this.log.push('restart')
        return this.#on.restart()
      case 'delete':
        // Mostly kept, so that later steps have objects to work on.
        if (this.#random() < 0.7) return
        await this.#ok('DELETE', '/app-env', { appEnvId: environment.appEnvId })
        this.model.deleted(environment)
        return this.#create(environment.isFunction)
      default:
        return this.#without(environment, kind)
    }
  }

  async #create(isFunction: boolean): Promise<void> {
    const { accountId, region } = this.#on
    this.#names += 1
    const name = `model ${this.#names}`
    const dockerPreset = isFunction ? 'FUNCTION' : 'CUSTOM'
    const app = await this.#ok('POST', '/app', { accountId, name, dockerPreset, port: 8080 })
    const settings = isFunction ? { functionConfig: { containerConcurrency: 10, maxScale: 2 } } : {}
    const input = { accountId, appId: app.appId, name, region, ...settings }
    const { appEnvId } = await this.#ok('POST', '/app-env', input)
    this.model.created(appEnvId, isFunction, name)
    this.log.push(`create ${appEnvId}`)
  }

  async #variables(environment: ModelEnvironment, sets: boolean): Promise<void> {
    const name = this.#pick(names)
    const value = `v${Math.floor(this.#random() * 3)}`
    const change = sets ? { set: [{ name, value, isSecret: false }] } : { unset: [name] }
    const { status } = await this.#on.ask('PATCH', '/app-env/variables', {
      appEnvId: environment.appEnvId,
      ...change,
    })
    if (!sets && !environment.saved.variables.has(name)) return
    expect(status, this.#context()).toBe(200)
    if (sets) this.model.setVariable(environment, name, value)
    else this.model.removeVariable(environment, name)
  }

  async #size(environment: ModelEnvironment): Promise<void> {
    const zClouds = this.#pick([1, 2])
    await this.#ok('PUT', '/app-env', { appEnvId: environment.appEnvId, zClouds })
    environment.saved.zClouds = zClouds
  }

  async #rename(environment: ModelEnvironment): Promise<void> {
    const name = `renamed ${Math.floor(this.#random() * 1e6)}`
    await this.#ok('PUT', '/app-env', { appEnvId: environment.appEnvId, name })
    environment.name = name
  }

  async #scale(environment: ModelEnvironment): Promise<void> {
    const containers = this.#pick([1, 2, 3])
    await this.#ok('PATCH', '/app-env/containers', { appEnvId: environment.appEnvId, containers })
    this.model.scaled(environment, containers)
  }

  async #configure(environment: ModelEnvironment): Promise<void> {
    const containerConcurrency = this.#pick([5, 10, 20])
    const applyImmediately = this.#random() < 0.5
    const input = { appEnvId: environment.appEnvId, containerConcurrency, applyImmediately }
    await this.#ok('PATCH', '/app-env/function-config', input)
    this.model.configured(environment, { containerConcurrency }, applyImmediately)
  }

  async #deploy(environment: ModelEnvironment): Promise<void> {
    const { appEnvId } = environment
    const { uploadUrl, storageKey } = await this.#ok('POST', '/app-env/request-storage-key', { appEnvId })
    await fetch(uploadUrl, { method: 'PUT', body: new Uint8Array(await tgz(source)) })
    await this.#ok('POST', '/app-env/notify-upload', { appEnvId, storageKey })
    this.model.deployed(environment)
  }

  /** Invalid calls are rejected and change nothing. */
  async #startOrStop(environment: ModelEnvironment, kind: 'start' | 'stop'): Promise<void> {
    // An interrupted deployment is pending again, so the expected state would depend on the time of the stop.
    if (kind === 'stop' && environment.deployed) await this.#untilServed(environment)
    const { status } = await this.#on.ask('POST', `/app-env/${kind}`, { appEnvId: environment.appEnvId })
    if (status === 200 && environment.deployed) environment.stopped = kind === 'stop'
    else if (environment.deployed) expect(status, this.#context()).toBeLessThan(500)
  }

  async #untilServed({ appEnvId }: ModelEnvironment): Promise<void> {
    await untilRead(
      async () => (await this.#on.ask('GET', '/app-env/status', { appEnvId })).json,
      ({ currentDeployment }: Answer) => currentDeployment.status === 'DEPLOYED',
      `${appEnvId} deployed`,
    )
  }

  /** Calls that must change nothing: a dry run, a stale revision, the same key again. */
  async #without(environment: ModelEnvironment, kind: string): Promise<void> {
    const { appEnvId } = environment
    const input = { appEnvId, name: 'never', zClouds: 4 }
    if (kind === 'rehearse') {
      const { status } = await this.#on.ask('PUT', '/app-env', input, { 'dry-run': 'true' })
      expect(status, this.#context()).toBe(200)
    } else if (kind === 'stale') {
      const { status } = await this.#on.ask('PUT', '/app-env', { ...input, expectedRevision: 1_000_000 })
      expect(status, this.#context()).toBe(409)
    } else {
      const { zClouds } = environment.saved
      const key = { 'idempotency-key': `key-${this.#random()}` }
      const first = await this.#on.ask('PUT', '/app-env', { appEnvId, zClouds }, key)
      const second = await this.#on.ask('PUT', '/app-env', { appEnvId, zClouds }, key)
      expect([second.status, second.json], this.#context()).toEqual([first.status, first.json])
    }
  }

  async #compare(): Promise<void> {
    for (const environment of this.model.environments.values()) {
      const { appEnvId } = environment
      const { json, status } = await this.#on.ask('GET', '/app-env', { appEnvId })
      expect(status, this.#context()).toBe(200)
      const { containerConcurrency, maxScale } = json.functionConfig ?? {}
      const seen = {
        name: json.name,
        zClouds: json.zClouds,
        ...(environment.isFunction ? { containerConcurrency, maxScale } : { containers: json.containers }),
        variables: json.envVars.map(
          (variable: { name: string; value: string }) => `${variable.name}=${variable.value}`,
        ),
      }
      expect(seen, this.#context()).toEqual(shown(environment))
      const pending = json.pendingChanges.hasDeployChanges
      const context = () => `${this.#context()}\n${JSON.stringify([json.pendingChanges, json.status])}`
      expect(pending, context()).toBe(isPending(environment))
    }
    const { json } = await this.#on.ask('GET', '/app-envs', { accountId: this.#on.accountId })
    const ids = json.appEnvs.map((one: { appEnvId: string }) => one.appEnvId).sort()
    expect(ids, this.#context()).toEqual([...this.model.environments.keys()].sort())
  }

  async #ok(method: string, path: string, input: Record<string, unknown>): Promise<Answer> {
    const { status, json } = await this.#on.ask(method, path, input)
    expect(status, `${JSON.stringify(json)}\n${this.#context()}`).toBe(200)
    return json
  }

  #context(): string {
    return `after ${this.log.slice(-25).join(', ')}`
  }

  #pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.#random() * values.length)] as T
  }
}

const names = ['RED', 'GREEN', 'BLUE']
