import net from 'node:net'
import { getAppEnvStatus } from '../../src/contract/app-env-reads.ts'
import { type AvailableEngine, availableEngines } from '../../testkit/engines/available-engines.ts'
import { deploy, makeFunction, sampleSource, untilDeployed } from '../../testkit/platform/deploy.ts'
import { Installation } from '../../testkit/platform/installation.ts'
import { untilRead } from '../../testkit/until.ts'

/** One installation of its own with one deployed function, on one engine. */
export interface Fixture {
  engine: AvailableEngine['engine']
  installation: Installation
  appEnvId: string
  host: string
  gatewayPort: number
  client: ReturnType<Installation['client']>
  untilZero(): Promise<void>
  close(): Promise<void>
}

/** Waits and windows run this many times faster, so that a function is at zero a moment after its last request. */
const zeroSoonScale = 1_000

export async function startFixture(
  available: AvailableEngine,
  options: { clockScale?: number; functionConfig?: Record<string, number>; server?: string } = {},
): Promise<Fixture> {
  const installation = new Installation({
    LONGSHORE_ENGINE: available.engine,
    LONGSHORE_CLOCK_SCALE: String(options.clockScale ?? zeroSoonScale),
  })
  await installation.start()
  const client = installation.client()
  const { appEnvId, host } = await makeFunction(installation, 'bench', options.functionConfig)
  await deploy(installation, appEnvId, sampleSource(available.base, options.server))
  const status = await untilDeployed(installation, appEnvId)
  if (status.currentDeployment?.status !== 'DEPLOYED') throw new Error(JSON.stringify(status))
  const gatewayPort = Number(new URL(installation.ready.gateway).port)
  return {
    engine: available.engine,
    installation,
    appEnvId,
    host,
    gatewayPort,
    client,
    async untilZero() {
      const fits = (read: { containers: { running: number } }) => read.containers.running === 0
      await untilRead(() => client.call(getAppEnvStatus, { appEnvId }), fits, 'zero containers')
    },
    close: () => installation.dispose(),
  }
}

/** The requested engines that this machine has, such as `process,docker`. */
export async function engines(wanted: string): Promise<AvailableEngine[]> {
  const names = wanted.split(',')
  return (await availableEngines()).filter(({ engine }) => names.includes(engine))
}

interface FirstByte {
  ms: number
  status: number
}

/** A new connection, one request; resolves at the first byte of the answer, or with status 0 when there is none. */
export function firstByte(port: number, host: string, path = '/', address = '127.0.0.1'): Promise<FirstByte> {
  const startedMs = performance.now()
  return new Promise((resolve) => {
    const socket = net.connect({ port, host: address, noDelay: true })
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    socket.once('data', (piece) => {
      resolve({ ms: performance.now() - startedMs, status: Number(piece.toString('latin1', 9, 12)) })
      socket.destroy()
    })
    const failed = () => resolve({ ms: performance.now() - startedMs, status: 0 })
    socket.once('error', failed)
    socket.once('close', failed)
  })
}
