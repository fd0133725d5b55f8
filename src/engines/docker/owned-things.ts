import type Docker from 'dockerode'
import type { OwnedThing } from '../engine.ts'
import { requestInTime } from './client.ts'
import { label } from './names.ts'

/** Containers, images and volumes with the label of the installation. */
export async function ownedThings(docker: Docker, installationId: string): Promise<OwnedThing[]> {
  const filters = { label: [`${label.installation}=${installationId}`] }
  const containers = await requestInTime((abortSignal) =>
    docker.listContainers({ all: true, filters, abortSignal } as object),
  )
  const images = await requestInTime((abortSignal) => docker.listImages({ filters, abortSignal } as object))
  const { Volumes } = await requestInTime((abortSignal) =>
    docker.listVolumes({ filters, abortSignal } as object),
  )
  const found = (kind: OwnedThing['kind'], name: string, labels?: Record<string, string>): OwnedThing => ({
    kind,
    name,
    appEnvId: labels?.[label.environment] ?? null,
  })
  return [
    ...containers.map((one) => found('container', one.Names[0]?.slice(1) ?? one.Id, one.Labels)),
    ...images.map((one) => found('image', one.RepoTags?.[0] ?? one.Id, one.Labels)),
    ...(Volumes ?? []).map((one) => found('volume', one.Name, one.Labels)),
  ]
}
