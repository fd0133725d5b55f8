import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { isAlive } from '../cli/local-installation.ts'
import { sleep, systemClock } from '../clock.ts'
import { readConfig } from '../config.ts'
import { AppError } from '../errors.ts'
import { connectGateway } from '../gateway/gateway-client.ts'
import { createLog } from '../log.ts'
import { openPlatform } from '../platform.ts'
import { openHome } from '../store/home.ts'
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
  const log = createLog('stop', 'warn')
  const home = openHome(config.home)
  await endControlPlane(home.serveFile)
  // With the engines that it has been running on; the settings of this shell may name others.
  const platform = await openPlatform(config, log, commandLine, { regions: 'known' })
  let ended = 0
  for (const { engine } of platform.regions) {
    const containers = await engine.list()
    ended += containers.length
    await Promise.all(
      containers.map(async ({ name }) => {
        await engine.stop(name, 10)
        await engine.remove(name)
      }),
    )
  }
  const hadGateway = await endGateway(home.gatewaySocket)
  await platform.close()
  process.stderr.write(
    `longshore: stopped ${ended} container(s)${hadGateway ? ' and the gateway' : ''}. Everything stored is kept in ${home.dir}.\n`,
  )
  return 0
}

async function endControlPlane(serveFile: string): Promise<void> {
  const text = await readFile(serveFile, 'utf8').catch(() => '{}')
  const { pid } = JSON.parse(text) as { pid?: number }
  if (!pid || !signal(pid, 'SIGTERM')) return
  const deadlineMs = systemClock.monotonicMs() + stopMs
  while (isAlive(pid)) {
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
