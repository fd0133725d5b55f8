import type Docker from 'dockerode'
import { AppError } from '../../errors.ts'
import { orNull, requestInTime, statusOf } from './client.ts'
import { label } from './names.ts'

/** Removes the volumes of a deleted environment. */
export async function removeVolumes(docker: Docker, installationId: string, appEnvId: string): Promise<void> {
  const labels = [`${label.installation}=${installationId}`, `${label.environment}=${appEnvId}`]
  const { Volumes } = await requestInTime((abortSignal) =>
    docker.listVolumes({ filters: { label: labels }, abortSignal } as object),
  )
  for (const volume of Volumes ?? []) {
    await orNull(requestInTime((abortSignal) => docker.getVolume(volume.Name).remove({ abortSignal }))).catch(
      (error) => {
        if (statusOf(error) !== 409) throw error
        throw new AppError('conflict', 'A volume of the environment is still used by a container', {
          cause: error,
        })
      },
    )
  }
}
