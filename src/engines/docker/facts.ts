import os from 'node:os'
import type Docker from 'dockerode'
import { AppError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { type AddressMode, addressModeFor } from './address-mode.ts'
import { requestInTime } from './client.ts'

/** Facts about an engine that the platform needs before it creates containers. */
export interface EngineFacts {
  addressMode: AddressMode
  hostCpus: number
  init: boolean
}

/** Docker 20.10 is the oldest supported version. */
const oldestApi = [1, 41] as const

/** Reads the engine's capabilities; throws `unavailable` if it is too old or cannot limit containers. */
export async function readEngineFacts(
  docker: Docker,
  socket: 'unix' | 'tcp',
  log: Log,
): Promise<EngineFacts> {
  const [version, info] = await requestInTime(() => Promise.all([docker.version(), docker.info()]))
  const [major = 0, minor = 0] = version.ApiVersion.split('.').map(Number)
  if (major < oldestApi[0] || (major === oldestApi[0] && minor < oldestApi[1])) {
    throw new AppError('unavailable', 'The container engine is too old', {
      details: `It speaks API ${version.ApiVersion}; ${oldestApi.join('.')} is needed (Docker 20.10 or later).`,
    })
  }
  checkLimits(info, log)
  const addressMode = addressModeFor({
    platform: process.platform,
    kernel: os.release(),
    socket,
    engineKernel: info.KernelVersion,
    engineSystem: info.OperatingSystem,
    securityOptions: info.SecurityOptions ?? [],
  })
  log.debug(
    { engineVersion: version.Version, api: version.ApiVersion, addressMode },
    'container engine found',
  )
  return { addressMode, hostCpus: info.NCPU, init: Boolean(info.InitBinary) }
}

interface LimitFacts {
  MemoryLimit?: boolean
  SwapLimit?: boolean
  CpuCfsQuota?: boolean
  PidsLimit?: boolean
}

/** An engine without limits ignores them without an error, so one tenant could use up the whole machine. */
function checkLimits(info: LimitFacts, log: Log): void {
  const missing = [
    info.MemoryLimit === false && 'memory',
    info.CpuCfsQuota === false && 'CPU',
    info.PidsLimit === false && 'process count',
  ].filter(Boolean)
  if (missing.length > 0) {
    throw new AppError('unavailable', `The container engine cannot limit ${missing.join(', ')}`, {
      details:
        'Turn on the memory, cpu and pids controllers of cgroups on its machine (`docker info` lists what is missing), ' +
        'or set LONGSHORE_ENGINE=process.',
    })
  }
  if (info.SwapLimit === false)
    log.warn('the container engine cannot limit swap; memory limits apply without it')
}
