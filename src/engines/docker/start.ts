import path from 'node:path'
import type Docker from 'dockerode'
import { AppError } from '../../errors.ts'
import { type ContainerSpec, type EngineContainer, EngineFailure } from '../engine.ts'
import type { AddressMode } from './address-mode.ts'
import { engineSentence, orNull, requestInTime, statusOf } from './client.ts'
import { createOptions } from './container-spec.ts'
import { toEngineContainer } from './inspected-container.ts'
import { containerName, label } from './names.ts'
import type { AccountNetworks } from './networks.ts'

interface StartingPlace {
  installationId: string
  nodeName: string
  addressMode: AddressMode
  hostCpus: number
  init: boolean
}

/**
 * Creates and starts containers with the fewest calls: create, start, and one inspection for the address. An existing
 * name is never created again.
 */
export class ContainerStarter {
  readonly #docker: Docker
  readonly #networks: AccountNetworks
  readonly #place: StartingPlace
  /** Created by `prepare` and not started yet, so that `apply` need not check whether they exist. */
  readonly #prepared = new Set<string>()
  readonly #applying = new Map<string, Promise<EngineContainer>>()

  constructor(docker: Docker, networks: AccountNetworks, place: StartingPlace) {
    this.#docker = docker
    this.#networks = networks
    this.#place = place
  }

  /** Concurrent calls for one name share one start. */
  apply(spec: ContainerSpec): Promise<EngineContainer> {
    const current = this.#applying.get(spec.name)
    if (current) return current
    const work = this.#networks
      .use(spec.accountId, (network) => this.#apply(spec, network))
      .finally(() => this.#applying.delete(spec.name))
    this.#applying.set(spec.name, work)
    return work
  }

  async prepare(spec: ContainerSpec): Promise<void> {
    await this.#networks.use(spec.accountId, (network) => this.#create(spec, network))
    this.#prepared.add(spec.name)
  }

  forget(name: string): void {
    this.#prepared.delete(name)
  }

  async #apply(spec: ContainerSpec, network: string, lastTry = false): Promise<EngineContainer> {
    const isNew = this.#prepared.delete(spec.name) || (await this.#create(spec, network)) === 'made'
    if (!isNew) {
      const found = await this.#look(spec.name)
      if (found && found.state !== 'created') return found
    }
    try {
      await requestInTime((abortSignal) => this.#container(spec.name).start({ abortSignal }))
    } catch (error) {
      // 304: already running.
      if (statusOf(error) !== 304) return await this.#startRefused(spec, error, lastTry)
    }
    const started = await this.#look(spec.name)
    if (!started) throw new EngineFailure('interrupted', 'The container was removed while it started.')
    return started
  }

  async #create(spec: ContainerSpec, network: string): Promise<'made' | 'exists'> {
    const body = createOptions(await this.#withAbsoluteDir(spec), { ...this.#place, network })
    try {
      // Name and body separately: dockerode would also put the whole body, secrets included, into the URL.
      await requestInTime((abortSignal) =>
        this.#docker.createContainer({
          _query: { name: containerName(spec.name) },
          _body: body,
          abortSignal,
        } as Docker.ContainerCreateOptions),
      )
      return 'made'
    } catch (error) {
      if (statusOf(error) === 409) return 'exists'
      throw createRefusal(spec, error)
    }
  }

  /** A relative working directory is relative to the image's, but the engine accepts only absolute ones. */
  async #withAbsoluteDir(spec: ContainerSpec): Promise<ContainerSpec> {
    if (!spec.workingDir || spec.workingDir.startsWith('/')) return spec
    const image = await orNull(requestInTime(() => this.#docker.getImage(spec.image).inspect()))
    const workingDir = path.posix.resolve('/', image?.Config?.WorkingDir ?? '', spec.workingDir)
    return { ...spec, workingDir }
  }

  /** Removes the half-started container. A missing network is created again once; any other error is reported. */
  async #startRefused(spec: ContainerSpec, error: unknown, lastTry: boolean): Promise<EngineContainer> {
    if (statusOf(error) === null) throw error
    const sentence = engineSentence(error)
    await orNull(
      requestInTime((abortSignal) =>
        this.#container(spec.name).remove({ force: true, v: true, abortSignal }),
      ),
    )
    const lostNetwork = statusOf(error) === 404 && /network/i.test(sentence)
    if ((lostNetwork || statusOf(error) === 404) && !lastTry) {
      this.#networks.forget(spec.accountId)
      return await this.#networks.use(spec.accountId, (network) => this.#apply(spec, network, true))
    }
    if (isCodesFault(statusOf(error), sentence)) {
      throw new EngineFailure(
        'bad-command',
        `The container could not be started: ${sentence.replace(/\.?$/, '.')}`,
        {
          cause: error,
        },
      )
    }
    throw new AppError('unavailable', 'The container engine could not start the container', {
      details: sentence,
      retryAfterSeconds: 5,
      cause: error,
    })
  }

  async #look(name: string): Promise<EngineContainer | null> {
    const info = await orNull(requestInTime((abortSignal) => this.#container(name).inspect({ abortSignal })))
    if (!info) return null
    if (info.Config.Labels[label.installation] !== this.#place.installationId) {
      throw new AppError('conflict', 'Another installation has a container of this name on the same engine', {
        details: 'Use a separate engine for each installation, or remove the other container.',
      })
    }
    return toEngineContainer(info, this.#place)
  }

  #container(name: string): Docker.Container {
    return this.#docker.getContainer(containerName(name))
  }
}

function createRefusal(spec: ContainerSpec, error: unknown): unknown {
  const sentence = engineSentence(error)
  if (statusOf(error) === 404 && /no such image|image not known/i.test(sentence)) {
    return new EngineFailure(
      'image pull',
      `The image ${spec.image} is not on this engine any more. Deploy again.`,
      {
        cause: error,
      },
    )
  }
  if (statusOf(error) !== 400 && !namesTheCode(sentence)) return error
  const reason = /no command specified/i.test(sentence) ? 'the image has no CMD and no ENTRYPOINT.' : sentence
  return new EngineFailure('bad-command', `The container could not be created: ${reason}`, { cause: error })
}

/** Whether the engine's error message is about the image and not about the engine's own machine. */
function isCodesFault(status: number | null, sentence: string): boolean {
  return status === 400 || status === 404 || status === 409 || namesTheCode(sentence)
}

function namesTheCode(sentence: string): boolean {
  return /exec:|exec format|executable file not found|no such file or directory|permission denied|not a directory|is a directory|unable to find user|no matching entries|chdir|cwd/i.test(
    sentence,
  )
}
