import type { getAppEnvStatus } from './app-env-reads.ts'
import type { Health } from './health.ts'
import type { OutputOf } from './operation.ts'

type Served = Pick<OutputOf<typeof getAppEnvStatus>, 'status' | 'currentDeployment' | 'containers'>

/** The verdicts that call for a repair. */
export function isIll({ verdict }: Pick<Health, 'verdict'>): boolean {
  return verdict !== 'HEALTHY' && verdict !== 'IDLE' && verdict !== 'STARTING'
}

/** A first version takes requests already, and is in its stability window. */
export function servesUnproven({ status, currentDeployment, containers }: Served): boolean {
  return status === 'PENDING' && currentDeployment?.status === 'DEPLOYING' && containers.ready > 0
}

/** From this share of failed requests on, the status reports it. */
const mostFail = 50

/** A sentence about failing requests while containers run; null if fewer than half fail. */
export function requestSentence({
  failedPercent,
  path,
}: Pick<Health, 'failedPercent' | 'path'>): string | null {
  if (failedPercent === null || failedPercent < mostFail) return null
  const unchecked = path === null ? ' No health path is set, so only the port is checked.' : ''
  return `${failedPercent} % of the requests of the last minute failed.${unchecked}`
}

/** The same sentence on every surface. */
export function healthSentence({
  verdict,
  restarts,
  lastExit,
}: Pick<Health, 'verdict' | 'restarts' | 'lastExit'>): string {
  switch (verdict) {
    case 'HEALTHY':
      return 'Its containers are healthy.'
    case 'STARTING':
      return 'Its containers are starting, or in their stability window.'
    case 'CRASH_LOOP':
      return `Its containers keep exiting: ${restarts} exits, the last with code ${lastExit?.code ?? 'unknown'}.`
    case 'OOM_LOOP':
      return `Its containers keep running out of memory: ${restarts} exits. Raise zClouds or use less memory.`
    case 'FAILING_CHECKS':
      return 'Its health checks fail; a container that fails them takes no requests.'
    case 'UNREACHABLE':
      return 'Its containers accept no connections on the port of the app.'
    case 'IDLE':
      return 'It is at zero containers; the next request starts one.'
  }
}
