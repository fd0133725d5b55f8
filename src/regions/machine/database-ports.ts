import { randomInt } from 'node:crypto'
import net from 'node:net'
import { databaseEndpoints, portName } from '../../domain/databases/credentials.ts'
import { AppError } from '../../errors.ts'
import type { Db } from '../../store/db.ts'
import { claimDatabasePorts } from '../../store/repositories/database-ports.ts'
import { findEnvironment, saveEnvironment } from '../../store/repositories/environments.ts'
import type { EnvironmentView } from '../rollouts/environment-view.ts'

/** Above the kernels' ranges for outgoing connections. */
const firstPort = 61_000
const lastPort = 65_400

/** Whether the database still needs a port for one of its endpoints. */
export function lacksPorts(view: EnvironmentView): boolean {
  const { database } = view.environment
  if (!view.app.isDatabase || !database) return false
  return portNames(view).some((name) => database.ports[name] === undefined)
}

/** The port names of every container in the current and the wanted version. */
function portNames({ app, wanted, current }: EnvironmentView): string[] {
  const counts = [wanted, current].map((one) => one?.rollout.settings.containers ?? 1)
  const endpoints = databaseEndpoints(app.dockerPreset)
  return Array.from({ length: Math.max(...counts) }, (_, ordinal) =>
    endpoints.map(({ name }) => portName(name, ordinal)),
  ).flat()
}

/** Chooses the database's fixed ports on 127.0.0.1 and stores them. */
export async function chooseDatabasePorts(db: Db, view: EnvironmentView): Promise<void> {
  const { appEnvId } = view.environment
  const wanted = portNames(view)
  for (let tries = 0; tries < 20; tries++) {
    const candidates = await freePorts(wanted.length * 2)
    const chosen = await db.write(async (tx) => {
      const environment = await findEnvironment(tx, { appEnvId })
      if (!environment?.database) return true
      const known = environment.database.ports
      const names = wanted.filter((name) => known[name] === undefined)
      const ports = await claimDatabasePorts(tx, appEnvId, candidates, names.length)
      if (!ports) return false
      const chosenPorts = Object.fromEntries(names.map((name, at) => [name, ports[at] as number]))
      environment.database.ports = { ...known, ...chosenPorts }
      await saveEnvironment(tx, environment)
      return true
    })
    if (chosen) return
  }
  throw new AppError('unavailable', 'No port is left for another database', {
    details: `Databases answer on ports ${firstPort} to ${lastPort} of this machine; free some of them.`,
  })
}

async function freePorts(count: number): Promise<number[]> {
  const found = new Set<number>()
  for (let tries = 0; found.size < count && tries < 200; tries++) {
    const port = randomInt(firstPort, lastPort)
    if (!found.has(port) && (await isFree(port))) found.add(port)
  }
  return [...found]
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
  })
}
