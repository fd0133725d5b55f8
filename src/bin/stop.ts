import { existsSync } from 'node:fs'
import os from 'node:os'
import { parseArgs } from 'node:util'
import { sleep, systemClock } from '../clock.ts'
import { type Config, readConfig } from '../config.ts'
import { AppError } from '../errors.ts'
import { connectGateway } from '../gateway/gateway-client.ts'
import { createLog } from '../log.ts'
import { endContainers } from '../regions.ts'
import { readInstallation } from '../store/first-start.ts'
import { type Home, lockHome, openHome, requireHome, servingPid } from '../store/home.ts'
import { openSqliteDb } from '../store/sqlite-db.ts'
import { buildId, commandLine } from './build-id.ts'

const stopMs = 30_000

/**
 * `longshore stop`: ends everything of this home: control plane, containers, gateway. What is stored stays, and
 * environments that were running run again at the next start.
 */
export async function runStop(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { values } = parseArgs({ args: [...argv], options: { help: { type: 'boolean', default: false } } })
  if (values.help) {
    process.stdout.write(
      'longshore stop\n\nEnds the platform of LONGSHORE_HOME: control plane, containers and gateway. What is stored stays.\n',
    )
    return 0
  }
  const config = readConfig(env)
  // A mistyped LONGSHORE_HOME must not be told that all is stopped.
  requireHome(config.home)
  const home = openHome(config.home)
  await endControlPlane(home.dir)
  const unlock = lockHome(config.home)
  try {
    const { ended, problems } = await endKnownContainers(config, home)
    const hadGateway = await endGateway(home.gatewaySocket)
    process.stderr.write(
      `longshore: stopped ${ended} container(s)${hadGateway ? ' and the gateway' : ''}. Everything stored is kept in ${home.dir}.\n`,
    )
    for (const { message, details } of problems) {
      process.stderr.write(`longshore stop: ${message}; its containers go on.\n  ${details}\n`)
    }
    return problems.length === 0 ? 0 : 1
  } finally {
    unlock()
  }
}

/** Needs no key: no secret is read. */
async function endKnownContainers(config: Config, home: Home): ReturnType<typeof endContainers> {
  if (!existsSync(home.database)) return { ended: 0, problems: [] }
  const db = await openSqliteDb(home.database)
  try {
    const installation = await readInstallation(db)
    if (!installation) return { ended: 0, problems: [] }
    return await endContainers({
      config,
      db,
      installationId: installation.installationId,
      nodeName: os.hostname(),
      clock: systemClock,
      log: createLog('stop', 'warn'),
      command: commandLine,
    })
  } finally {
    await db.close()
  }
}

/** The holder of the home's lock and nobody else: the number of a process that died may be another's by now. */
async function endControlPlane(dir: string): Promise<void> {
  const pid = servingPid(dir)
  if (pid === null || !signal(pid, 'SIGTERM')) return
  const deadlineMs = systemClock.monotonicMs() + stopMs
  while (servingPid(dir) === pid) {
    if (systemClock.monotonicMs() > deadlineMs) {
      throw new AppError('unavailable', `Process ${pid} does not stop`, {
        details: `End it by hand: kill -9 ${pid}.`,
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
