import path from 'node:path'
import { Readable } from 'node:stream'
import type Docker from 'dockerode'
import { AppError } from '../../errors.ts'
import { EngineFailure } from '../engine.ts'
import type { VolumeCopies, VolumeSpec } from '../volume-copies.ts'
import { checkedTar, type Owner } from '../volume-tar.ts'
import { engineCall, engineError, engineSentence, orNull, requestInTime, statusOf } from './client.ts'
import { volumeMounts } from './container-spec.ts'
import { ownerOf, userOf } from './image-user.ts'
import { buildContainerPrefix, label, shortHash, volumeName } from './names.ts'

/**
 * Volumes as the engine's archives of a container that has the volume and is never started, so the image needs no
 * programs.
 */
export class VolumeArchives implements VolumeCopies {
  readonly #installationId: string
  readonly #docker: () => Promise<Docker>

  constructor(installationId: string, docker: () => Promise<Docker>) {
    this.#installationId = installationId
    this.#docker = docker
  }

  async *dump(spec: VolumeSpec, abortSignal: AbortSignal): AsyncGenerator<Buffer> {
    const docker = await this.#docker()
    const holder = await this.#holder(docker, spec)
    try {
      // With the dot, names are relative to the folder.
      const options = { path: `${spec.mount.path}/.`, abortSignal }
      const tar = await engineCall(holder.getArchive(options as { path: string }))
      yield* tar as AsyncIterable<Buffer>
    } catch (error) {
      throw engineError(error)
    } finally {
      await removeHolder(docker, this.#installationId, spec.appEnvId)
    }
  }

  /** A new volume takes the place of the old one. */
  async load(spec: VolumeSpec, source: Readable, signal: AbortSignal): Promise<void> {
    const docker = await this.#docker()
    const owner = await this.#owner(docker, spec)
    await removeHolder(docker, this.#installationId, spec.appEnvId)
    await this.#removeVolume(docker, spec)
    const holder = await this.#holder(docker, spec)
    // From the root: the engine refuses links that lead out of the folder that it unpacks into.
    const folder = `${path.posix.relative('/', spec.mount.path)}/`
    const tar = Readable.from(checkedTar(source, { folder, owner }))
    const broken = new AbortController()
    tar.once('error', (error) => broken.abort(error))
    try {
      const abortSignal = AbortSignal.any([signal, broken.signal])
      await engineCall(holder.putArchive(tar, { path: '/', abortSignal } as { path: string }))
    } catch (error) {
      if (broken.signal.aborted) throw broken.signal.reason
      if (statusOf(error) === null) throw error
      throw new EngineFailure(
        'interrupted',
        `The volume could not be written: ${engineSentence(error)}. It may hold a part of the backup: restore again before you start the environment.`,
        { cause: error },
      )
    } finally {
      await removeHolder(docker, this.#installationId, spec.appEnvId)
    }
  }

  async remove(spec: VolumeSpec): Promise<void> {
    const docker = await this.#docker()
    await removeHolder(docker, this.#installationId, spec.appEnvId)
    await this.#removeVolume(docker, spec)
  }

  /** The owner for restored files if the image names a user, who could not use files of another owner. */
  async #owner(docker: Docker, spec: VolumeSpec): Promise<Owner | undefined> {
    const user = await userOf(docker, spec.image)
    if (user === '') return undefined
    const holder = await this.#holder(docker, spec)
    try {
      return await ownerOf(holder, user)
    } catch (error) {
      throw engineError(error)
    } finally {
      await removeHolder(docker, this.#installationId, spec.appEnvId)
    }
  }

  async #holder(docker: Docker, spec: VolumeSpec): Promise<Docker.Container> {
    const { appEnvId, image } = spec
    await removeHolder(docker, this.#installationId, appEnvId)
    const Mounts = volumeMounts({ ...spec, mounts: [spec.mount] }, this.#installationId)
    // The content is the backup's, not the image's.
    for (const { VolumeOptions } of Mounts) if (VolumeOptions) VolumeOptions.NoCopy = true
    const body = {
      Image: image,
      // Some command is required; it never runs.
      Entrypoint: ['never-run'],
      Labels: { [label.installation]: this.#installationId },
      NetworkDisabled: true,
      HostConfig: { Mounts },
    }
    try {
      return await requestInTime((abortSignal) =>
        docker.createContainer({
          _query: { name: holderName(this.#installationId, appEnvId) },
          _body: body,
          abortSignal,
        } as Docker.ContainerCreateOptions),
      )
    } catch (error) {
      if (statusOf(error) !== 404) throw error
      const message = `The image ${image} is not on this engine any more. Deploy again, then try again.`
      throw new EngineFailure('image pull', message, { cause: error })
    }
  }

  async #removeVolume(docker: Docker, { appEnvId, mount }: VolumeSpec): Promise<void> {
    const volume = docker.getVolume(volumeName(this.#installationId, appEnvId, mount.volume))
    try {
      await orNull(requestInTime((abortSignal) => volume.remove({ abortSignal })))
    } catch (error) {
      if (statusOf(error) !== 409) throw error
      throw new AppError('unavailable', 'The volume is still used by a container', { cause: error })
    }
  }
}

/** Removes the holder container of the environment if there is one, including one that a crash left. */
export async function removeHolder(docker: Docker, installationId: string, appEnvId: string): Promise<void> {
  const holder = docker.getContainer(holderName(installationId, appEnvId))
  await orNull(requestInTime((abortSignal) => holder.remove({ force: true, v: true, abortSignal })))
}

function holderName(installationId: string, appEnvId: string): string {
  return `${buildContainerPrefix(installationId)}volume-${shortHash(appEnvId, 16)}`
}
