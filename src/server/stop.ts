import { counted } from '../amounts.ts'
import { sleep, systemClock } from '../clock.ts'
import { type Config, readConfig } from '../config/config.ts'
import { AppError } from '../errors.ts'
import { connectGateway } from '../gateway/control/client.ts'
import { lockHolder } from '../lock-holder.ts'
import { createLog } from '../log.ts'
import { type Home, lockHome, openHome, requireHome } from '../store/data-directory.ts'
import { readInstallation } from '../store/first-start.ts'
import { hasStore, openStore } from '../store/open.ts'
import { buildId, commandLine } from './build-id.ts'
import { endContainers } from './regions/open.ts'

const stopMs = 30_000

/**
 * `longshore stop`: ends control plane, containers and gateway of this data directory. Stored data stays, and running
 * environments run again after the next start.
 */
export async function runStop(env: NodeJS.ProcessEnv): Promise<number> {
  const config = readConfig(env)
  // Fail for a mistyped LONGSHORE_HOME instead of reporting success.
  requireHome(config.home)
  const home = openHome(config.home)
  await endControlPlane(home.dir)
  const unlock = lockHome(config.home)
  try {
    const { ended, problems } = await endKnownContainers(config, home)
    const hadGateway = await endGateway(home.gatewaySocket)
    process.stderr.write(
      `longshore: stopped ${counted(ended, 'container')}${hadGateway ? ' and the gateway' : ''}. Everything stored is kept in ${home.dir}.\n`,
    )
    for (const { message, details } of problems) {
      process.stderr.write(`longshore stop: ${message}; its containers keep running.\n  ${details}\n`)
    }
    return problems.length === 0 ? 0 : 1
  } finally {
    unlock()
  }
}

async function endKnownContainers(config: Config, home: Home): ReturnType<typeof endContainers> {
  if (!hasStore(config, home)) return { ended: 0, problems: [] }
  const db = await openStore(config, home)
  try {
    const installation = await readInstallation(db)
    if (!installation) return { ended: 0, problems: [] }
    return await endContainers({
      config,
      db,
      installationId: installation.installationId,
      nodeName: config.node,
      isShared: config.databaseUrl !== undefined,
      clock: systemClock,
      log: createLog('stop', 'warn'),
      command: commandLine,
    })
  } finally {
    await db.close()
  }
}

/** Signals only the holder of the lock, because the id of an ended process may have been reused. */
async function endControlPlane(dir: string): Promise<void> {
  const pid = lockHolder(dir)
  if (pid === null || !signal(pid, 'SIGTERM')) return
  const deadlineMs = systemClock.monotonicMs() + stopMs
  while (lockHolder(dir) === pid) {
    if (systemClock.monotonicMs() > deadlineMs) {
      throw new AppError('unavailable', `Process ${pid} did not stop`, {
        details: `Kill it with: kill -9 ${pid}.`,
      })
    }
    await sleep(systemClock, 50)
  }
}

function signal(pid: number, what: NodeJS.Signals): boolean {
  try {
    process.kill(pid, what)
    return true
  } catch {
    return false
  }
}

async function endGateway(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const finish = (had: boolean) => {
      cancel()
      link.close()
      resolve(had)
    }
    const cancel = systemClock.after(2_000, () => finish(false))
    const link = connectGateway({
      socketPath,
      build: buildId,
      clock: systemClock,
      log: createLog('stop', 'silent'),
      on: {
        up: () => {
          link.shutdown()
          systemClock.after(200, () => finish(true))
        },
      },
    })
  })
}
