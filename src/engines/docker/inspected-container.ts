import type Docker from 'dockerode'
import type { Address, ContainerState, EngineContainer } from '../engine.ts'
import type { AddressMode } from './address-mode.ts'
import { label, platformName } from './names.ts'

/** The state of one container, converted from the engine's response. */
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

/** The engine writes year 1 for a time that it does not have. */
function isoOrNull(time: string | undefined): string | null {
  return time && !time.startsWith('0001-') ? new Date(time).toISOString() : null
}
