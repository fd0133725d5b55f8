import { createHash } from 'node:crypto'
import type Docker from 'dockerode'
import type { Address, ContainerSpec, ContainerState, DatabaseSpec, EngineContainer } from '../engine.ts'
import { databaseContainer } from './docker-database.ts'

/**
 * How a container's port is reached. `container ip`: directly, which only works on the kernel that runs the
 * container. `published port`: through a random port of 127.0.0.1, for engines inside a virtual machine.
 */
export type AddressMode = 'container ip' | 'published port'

/** What the spec of a container depends on besides the wish itself. */
export interface SpecFacts {
  installationId: string
  network: string
  addressMode: AddressMode
  /** CPUs of the engine's machine; it refuses a limit above them. */
  hostCpus: number
  /** Whether the engine has an init process to put before the code. */
  init: boolean
}

export const label = {
  installation: 'longshore.installation',
  pod: 'longshore.pod',
  environment: 'longshore.env',
  account: 'longshore.account',
  content: 'longshore.content',
  template: 'longshore.template',
  port: 'longshore.port',
} as const

const namePrefix = 'longshore-'

export function containerName(name: string): string {
  return namePrefix + name
}

/** What the platform's own containers carry; one that somebody else runs from a built image has the first only. */
export function ownContainers(installationId: string): string[] {
  return [`${label.installation}=${installationId}`, label.pod]
}

/** Begins the names of containers that only serve a build for a moment. */
export function buildContainerPrefix(installationId: string): string {
  return `longshorebuild-${short(installationId, 8)}-`
}

/** The platform's name of a container the engine names; the engine puts a slash before. */
export function platformName(engineName: string): string {
  return engineName.replace(/^\//, '').slice(namePrefix.length)
}

/**
 * What common images need to start and nothing more: nginx, PostgreSQL, Redis and the like begin as root, give
 * their data to a user of their own (CHOWN, FOWNER, DAC_OVERRIDE), become that user (SETUID, SETGID), listen below
 * 1024 (NET_BIND_SERVICE) and signal their workers (KILL). Left out of Docker's own set: NET_RAW (forged
 * packets), MKNOD, AUDIT_WRITE, SETFCAP, SETPCAP, FSETID, SYS_CHROOT.
 */
const neededCapabilities = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'KILL', 'NET_BIND_SERVICE', 'SETGID', 'SETUID']

/** Enough for a runtime with many threads, and an end to a fork bomb. */
const pidsLimit = 1024

/** The platform collects the lines; this only bounds what waits on the engine's disk: 30 MB a container. */
const logConfig = { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '3' } }

const mib = 1024 * 1024

/** The body of the engine's create call for one container. */
export function createOptions(spec: ContainerSpec, facts: SpecFacts): Docker.ContainerCreateOptions {
  const exposed = spec.port !== null && facts.addressMode === 'published port' ? `${spec.port}/tcp` : null
  if (spec.database) return databaseOptions(spec, spec.database, facts)
  return {
    Image: spec.image,
    Hostname: spec.name,
    Env: environment(spec),
    // An entry point of one's own takes the image's CMD away with it.
    ...(spec.command && { Entrypoint: [...spec.command] }),
    ...(spec.workingDir && { WorkingDir: spec.workingDir }),
    Labels: containerLabels(spec, facts.installationId),
    Tty: false,
    OpenStdin: false,
    // The platform finds readiness by connecting; an image's own probe would only cost CPU.
    Healthcheck: { Test: ['NONE'] },
    ...(exposed && { ExposedPorts: { [exposed]: {} } }),
    HostConfig: {
      NetworkMode: facts.network,
      ...(spec.mounts?.length && { Mounts: volumeMounts(spec, facts.installationId) }),
      ...(exposed && { PortBindings: { [exposed]: [{ HostIp: '127.0.0.1', HostPort: '' }] } }),
      Memory: spec.memoryMb * mib,
      MemorySwap: spec.memoryMb * mib,
      NanoCpus: Math.min(spec.cpuMillicores, facts.hostCpus * 1000) * 1_000_000,
      PidsLimit: pidsLimit,
      CapDrop: ['ALL'],
      CapAdd: neededCapabilities,
      SecurityOpt: ['no-new-privileges'],
      Privileged: false,
      // The reconciler starts things, so that one place decides; an engine that restarted on its own would double.
      RestartPolicy: { Name: 'no' },
      LogConfig: logConfig,
      // Passes SIGTERM to code that runs as process 1 and reaps what it leaves behind.
      ...(facts.init && { Init: true }),
    },
    NetworkingConfig: { EndpointsConfig: { [facts.network]: { Aliases: [spec.internalHost] } } },
  }
}

/** A managed database: its official image's own conventions, its ports on loopback, its data on a volume. */
function databaseOptions(
  spec: ContainerSpec,
  database: DatabaseSpec,
  facts: SpecFacts,
): Docker.ContainerCreateOptions {
  const container = databaseContainer(database, spec.memoryMb)
  const { database: _, ...plain } = spec
  const options = createOptions(
    {
      ...plain,
      env: { ...spec.env, ...container.env },
      mounts: database.persistent ? [{ volume: 'database', path: container.dataPath }] : [],
    },
    { ...facts, addressMode: 'container ip' },
  )
  const published = database.ports.map(({ port, hostPort }) => [
    `${port}/tcp`,
    [{ HostIp: '127.0.0.1', HostPort: String(hostPort) }],
  ])
  return {
    ...options,
    ...(container.entrypoint && { Entrypoint: container.entrypoint }),
    ...(container.cmd && { Cmd: container.cmd }),
    ExposedPorts: Object.fromEntries(published.map(([port]) => [port, {}])),
    HostConfig: {
      ...options.HostConfig,
      PortBindings: Object.fromEntries(published),
      ...(container.sharedMemoryMb && { ShmSize: container.sharedMemoryMb * mib }),
    },
  }
}

/** The engine makes a volume it does not know, with these labels, by which `forgetEnvironment` finds it. */
function volumeMounts(spec: ContainerSpec, installationId: string): Docker.MountConfig {
  return (spec.mounts ?? []).map((mount) => ({
    Type: 'volume',
    Source: volumeName(installationId, spec.appEnvId, mount.volume),
    Target: mount.path,
    VolumeOptions: {
      NoCopy: false,
      Labels: {
        [label.installation]: installationId,
        [label.environment]: spec.appEnvId,
        [label.account]: spec.accountId,
      },
      DriverConfig: { Name: 'local', Options: {} },
    },
  }))
}

function volumeName(installationId: string, appEnvId: string, volume: string): string {
  return `longshore-${short(installationId, 8)}-${short(appEnvId, 16)}-${volume}`
}

function environment(spec: ContainerSpec): string[] {
  const env = spec.port === null ? spec.env : { ...spec.env, PORT: String(spec.port) }
  return Object.entries(env).map(([name, value]) => `${name}=${value}`)
}

function containerLabels(spec: ContainerSpec, installationId: string): Record<string, string> {
  return {
    [label.installation]: installationId,
    [label.pod]: spec.podId,
    [label.environment]: spec.appEnvId,
    [label.account]: spec.accountId,
    [label.content]: spec.contentId,
    [label.template]: spec.template,
    [label.port]: spec.port === null ? '' : String(spec.port),
  }
}

/** What the engine tells of one container, in the platform's words. */
export function toEngineContainer(
  info: Docker.ContainerInspectInfo,
  facts: { nodeName: string; addressMode: AddressMode },
): EngineContainer {
  const labels = info.Config.Labels
  const state = containerState(info.State.Status)
  return {
    name: platformName(info.Name),
    podId: labels[label.pod] ?? '',
    appEnvId: labels[label.environment] ?? '',
    contentId: labels[label.content] ?? '',
    template: labels[label.template] ?? '',
    state,
    startedAt: isoOrNull(info.State.StartedAt),
    finishedAt: state === 'exited' ? isoOrNull(info.State.FinishedAt) : null,
    exitCode: state === 'exited' ? info.State.ExitCode : null,
    outOfMemory: state === 'exited' && info.State.OOMKilled === true,
    address: state === 'running' ? addressOf(info, facts.addressMode) : null,
    nodeName: facts.nodeName,
  }
}

function containerState(status: string): ContainerState {
  if (status === 'created' || status === 'initialized' || status === 'configured') return 'created'
  return status === 'exited' || status === 'dead' || status === 'removing' || status === 'stopped'
    ? 'exited'
    : 'running'
}

function addressOf(info: Docker.ContainerInspectInfo, mode: AddressMode): Address | null {
  const port = Number(info.Config.Labels[label.port] || 0)
  if (!port) return null
  if (mode === 'published port') {
    const published = info.NetworkSettings.Ports?.[`${port}/tcp`]?.[0]
    return published ? { host: '127.0.0.1', port: Number(published.HostPort), proxied: true } : null
  }
  const host = Object.values(info.NetworkSettings.Networks ?? {}).find((one) => one.IPAddress)?.IPAddress
  return host ? { host, port } : null
}

/** The engine writes year 1 where a thing never happened. */
function isoOrNull(time: string | undefined): string | null {
  return time && !time.startsWith('0001-') ? new Date(time).toISOString() : null
}

/** Decides how containers are reached, from what the engine says of itself. */
export function addressModeFor(seen: {
  platform: string
  kernel: string
  socket: 'unix' | 'tcp'
  engineKernel: string
  engineSystem: string
  securityOptions: readonly string[]
}): AddressMode {
  const sameKernel = seen.platform === 'linux' && seen.socket === 'unix' && seen.engineKernel === seen.kernel
  // A rootless engine keeps its bridges in a network namespace of its own, on the same kernel but out of reach.
  const rootless = seen.securityOptions.some((option) => option.includes('rootless'))
  return sameKernel && !rootless && !/docker desktop/i.test(seen.engineSystem)
    ? 'container ip'
    : 'published port'
}

/** One bridge network an account, so that accounts do not reach each other. */
export function networkName(installationId: string, accountId: string): string {
  return `${namePrefix}${short(installationId, 8)}-${short(accountId, 12)}`
}

/**
 * Subnets to try for an account's network, best first. Left alone, Docker gives a bridge a /16 or /20 of about 30
 * it has, so the 31st account would get none; /24 of one range give 256 networks of 250 containers. The first try
 * comes from the account, so that several installations on one engine rarely meet.
 */
export function subnetCandidates(accountId: string, taken: readonly string[]): string[] {
  const first = Number.parseInt(short(accountId, 2), 16)
  return Array.from({ length: 256 }, (_, step) => `10.213.${(first + step) % 256}.0/24`).filter(
    (subnet) => !taken.some((other) => overlaps(subnet, other)),
  )
}

function overlaps(one: string, other: string): boolean {
  const [a, b] = [range(one), range(other)]
  return a !== null && b !== null && a.first <= b.last && b.first <= a.last
}

function range(subnet: string): { first: number; last: number } | null {
  const match = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\/(\d+)$/.exec(subnet)
  if (!match) return null
  const [a, b, c, d, bits] = match.slice(1).map(Number) as [number, number, number, number, number]
  const size = 2 ** (32 - bits)
  const address = ((a * 256 + b) * 256 + c) * 256 + d
  const first = Math.floor(address / size) * size
  return { first, last: first + size - 1 }
}

const repositoryPart = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*$/

/** An id as part of an image name. Ids the grammar does not allow get a hash, so that two never become one. */
function imagePart(id: string): string {
  if (repositoryPart.test(id) && id.length <= 100) return id
  const clean = id
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 60)
  return `${clean || 'x'}-${short(id, 8)}`
}

/** What names of images built here begin with. */
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
  return `longshore-stage/${short(installationId, 8)}/${short(`${installationId}/${appEnvId}`, 40)}`
}

function short(text: string, length: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, length)
}
