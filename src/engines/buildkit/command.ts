import type { BuildSpec } from '../engine.ts'

/** The image registry of a region. */
export interface Registry {
  /** `host:port/prefix`, as the builder reaches it. */
  push: string
  /** The same as the nodes reach it. */
  pull: string
  /** It speaks plain HTTP, or has a certificate that is not trusted. */
  insecure: boolean
  /** A Docker `config.json` with the credentials; null if none are needed. */
  credentialsFile: string | null
}

interface BuildFolders {
  contextDir: string
  /** Holds the Dockerfile under that name. */
  dockerfileDir: string
  policyFile: string
  metadataFile: string
}

/** Images of environments are below this name in the registry. */
const imageFolder = 'longshore'

export function repositoryOf(address: string, appEnvId: string): string {
  return `${address}/${imageFolder}/${appEnvId}`
}

/** Where buildctl finds the value of a secret; a command line would show it to other users of the machine. */
export function secretVariable(index: number): string {
  return `LONGSHORE_BUILD_SECRET_${index}`
}

/** The names of the variables whose values are secret. */
export function secretNamesOf({ buildArgs, secretBuildArgs }: BuildSpec): string[] {
  return Object.entries(buildArgs).flatMap(([name, value]) =>
    value !== '' && secretBuildArgs.includes(value) ? [name] : [],
  )
}

/** Arguments of buildctl: build, push, and keep the cache of the environment beside its images. */
export function buildArguments(
  address: string,
  registry: Registry,
  spec: BuildSpec,
  folders: BuildFolders,
): string[] {
  const { appEnvId, contentId, buildArgs } = spec
  const repository = repositoryOf(registry.push, appEnvId)
  const access = registry.insecure ? ',registry.insecure=true' : ''
  const cache = `type=registry,ref=${repository}:cache${access}`
  const secrets = secretNamesOf(spec)
  const options = [
    'filename=Dockerfile',
    // Without a frontend named here, a comment of the Dockerfile could name any image as the frontend.
    'cmdline=dockerfile.v0',
    // Cache mounts of another environment with the same id or path are other mounts.
    `build-arg:BUILDKIT_CACHE_MOUNT_NS=${appEnvId}`,
    ...Object.entries(buildArgs)
      .filter(([name]) => !secrets.includes(name) && !/^BUILDKIT_/i.test(name))
      .map(([name, value]) => `build-arg:${name}=${value}`),
  ]
  return [
    ...['--addr', address, 'build', '--frontend', 'dockerfile.v0', '--progress', 'rawjson'],
    ...['--local', `context=${folders.contextDir}`, '--local', `dockerfile=${folders.dockerfileDir}`],
    ...options.flatMap((option) => ['--opt', option]),
    ...secrets.flatMap((name, index) => ['--secret', `id=${name},env=${secretVariable(index)}`]),
    ...['--output', `type=image,name=${repository}:${contentId},push=true${access}`],
    ...['--import-cache', cache],
    ...['--export-cache', `${cache},mode=max,image-manifest=true,ignore-error=true`],
    ...['--source-policy-file', folders.policyFile, '--metadata-file', folders.metadataFile],
  ]
}

/**
 * Denies a build images of other environments, which the builder's credentials could read, and downloads over the
 * builder's own network, however the Dockerfile or a base image names them.
 */
export function sourcePolicy({ push, pull }: Registry): object {
  const images = [...new Set([push, pull])].map((address) => `docker-image://${address}/${imageFolder}/*`)
  const downloads = ['http://*', 'https://*', 'git://*', 'ssh://*', 'oci-layout://*']
  return {
    rules: [...images, ...downloads].map((identifier) => ({
      action: 'DENY',
      selector: { identifier, matchType: 'WILDCARD' },
    })),
  }
}
