import { installationHash, shortHash } from './names.ts'

const repositoryPart = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*$/

/** An id as part of an image name. Ids the grammar does not allow get a hash, so that two never become one. */
function imagePart(id: string): string {
  if (repositoryPart.test(id) && id.length <= 100) return id
  const clean = id
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 60)
  return `${clean || 'x'}-${shortHash(id, 8)}`
}

/** Prefix of the names of images built here. */
export const imageNamespace = 'longshore/'

/** Every image built for an environment, without the tag. */
export function imageRepository(appEnvId: string): string {
  return imageNamespace + imagePart(appEnvId)
}

export function imageTag(appEnvId: string, contentId: string): string {
  return `${imageRepository(appEnvId)}:${imagePart(contentId)}`
}

/**
 * Where build stages of an environment are kept as a cache, so that none is left without a name. Any Dockerfile may
 * copy from an image that it can name: the installation's id, which no tenant sees, makes this name a secret.
 */
export function stageRepository(installationId: string, appEnvId: string): string {
  return `longshore-stage/${installationHash(installationId)}/${shortHash(`${installationId}/${appEnvId}`, 40)}`
}
