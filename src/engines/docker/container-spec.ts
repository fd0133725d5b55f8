import type Docker from 'dockerode'
import { databaseContainer } from '../database-container.ts'
import type { ContainerSpec, DatabaseSpec } from '../engine.ts'
import { keepingPath } from '../login-shell.ts'
import type { AddressMode } from './address-mode.ts'
import { label, volumeName } from './names.ts'

/** Inputs of a container spec besides the desired container. */
export interface SpecFacts {
  installationId: string
  network: string
  addressMode: AddressMode
  /** CPUs of the engine's machine; the engine rejects a higher limit. */
  hostCpus: number
  /** Whether the engine can run an init process as process 1. */
  init: boolean
}

/**
 * Images such as nginx and PostgreSQL start as root, give their data to a user (CHOWN, FOWNER, DAC_OVERRIDE)
 * that they become (SETUID, SETGID), listen below 1024 (NET_BIND_SERVICE) and signal their workers (KILL).
 * Docker's other defaults are dropped, above all NET_RAW, which forges packets.
 */
const neededCapabilities = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'KILL', 'NET_BIND_SERVICE', 'SETGID', 'SETUID']

/** Enough for a runtime with many threads; stops a fork bomb. */
const pidsLimit = 1024

/** The platform collects the lines; this limits the engine's own copy to 30 MB per container. */
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
    // Setting Entrypoint also clears the image's CMD.
    ...(spec.command && { Entrypoint: keepingPath(spec.command) }),
    ...(spec.workingDir && { WorkingDir: spec.workingDir }),
    Labels: containerLabels(spec, facts.installationId),
    Tty: false,
    OpenStdin: false,
    // The platform checks readiness by connecting; the image's own health check would only cost CPU.
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
      // Only the reconciler restarts containers; an engine that did so too could start a second one.
      RestartPolicy: { Name: 'no' },
      LogConfig: logConfig,
      // Passes SIGTERM to code that runs as process 1 and reaps its orphans.
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

/** The engine creates a missing volume with these labels, by which `purge` finds it. */
export function volumeMounts(
  spec: Pick<ContainerSpec, 'appEnvId' | 'accountId' | 'mounts'>,
  installationId: string,
): Docker.MountSettings[] {
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
    [label.port]: spec.port === null ? '' : String(spec.port),
  }
}
