const deadlineMs = 8_000
const manifestTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ')

interface RegistryAddress {
  /** `host:port/prefix`, as this program and as the nodes reach it. */
  push: string
  pull: string
  insecure: boolean
}

/**
 * Why the nodes cannot pull an image, according to the registry of the region. Other registries are reachable from the
 * nodes only, and a registry that requires credentials is assumed to have the image.
 */
export async function registryProblem(
  registry: RegistryAddress | undefined,
  image: string,
): Promise<string | null> {
  const [host = '', ...path] = image.split('/')
  if (!registry || hostOf(registry.pull) !== host) return null
  const [, name, tag = 'latest'] = /^(.*?)(?::([\w.-]+))?$/.exec(path.join('/')) ?? []
  const scheme = registry.insecure ? 'http' : 'https'
  const url = `${scheme}://${hostOf(registry.push)}/v2/${name}/manifests/${tag}`
  try {
    const { status } = await fetch(url, {
      ...{ method: 'HEAD', redirect: 'error', headers: { accept: manifestTypes } },
      signal: AbortSignal.timeout(deadlineMs),
    })
    return status === 404 ? 'the registry of the region does not have it' : null
  } catch {
    return 'the registry of the region does not answer'
  }
}

function hostOf(prefix: string): string {
  return prefix.split('/')[0] ?? ''
}
