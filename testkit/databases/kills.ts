import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { getAppEnvPods } from '../../src/contract/app-env-reads.ts'
import { testDocker } from '../engines/docker-images.ts'
import type { Installation } from '../platform/installation.ts'
import { untilRead } from '../until.ts'
import type { CommittingWriter } from './committing-writer.ts'
import { DatabaseFixture } from './fixture.ts'

/** Targets of `kill -9`: the control plane, the database, and its supervisor on the process engine. */
export type Victim = 'platform' | 'database' | 'supervisor'

interface KillFigures {
  kills: number
  committed: number
  /** From each kill of the database or its supervisor until it commits again; milliseconds. */
  awayMs: number[]
  wrong: string[]
}

/**
 * Kills the victims in turn while the writer commits, waits each time until rows are committed again, and returns the
 * lost rows at the end. A database is killed again only after `livesMs`, or restart back-off would delay the test.
 */
export async function killEach(
  installation: Installation,
  appEnvId: string,
  writer: CommittingWriter,
  options: { kills: number; victims: readonly Victim[]; livesMs: number; between?: (kill: number) => void },
): Promise<KillFigures> {
  const awayMs: number[] = []
  const wrong: string[] = []
  let aliveSinceMs = performance.now()
  for (let kill = 0; kill < options.kills; kill++) {
    const victim = options.victims[kill % options.victims.length] as Victim
    if (victim !== 'platform') await passed(aliveSinceMs + options.livesMs)
    const killedMs = performance.now()
    // The database keeps running without the platform; every other kill ends its connections.
    const least = writer.connected.connections + (victim === 'platform' ? 0 : 1)
    await killOne(installation, appEnvId, victim)
    await untilRead(
      async () => writer.connected,
      ({ connections, rows }) => connections >= least && rows > 20,
      `rows after kill ${kill + 1} (${victim})`,
      120_000,
    )
    if (victim !== 'platform') {
      aliveSinceMs = performance.now()
      awayMs.push(aliveSinceMs - killedMs)
    }
    options.between?.(kill + 1)
  }
  await writer.stop()
  wrong.push(...(await writer.wrong()))
  // The database accepts writes before the platform has stored that it runs.
  await untilRead(
    () => installation.client().call(getAppEnvPods, { appEnvId }),
    ({ pods }) => pods.filter(({ status }) => status === 'Running').length === 1,
    'one container',
  ).catch((error: Error) => wrong.push(error.message))
  return { kills: options.kills, committed: writer.committed, awayMs, wrong }
}

async function killOne(installation: Installation, appEnvId: string, victim: Victim): Promise<void> {
  if (victim === 'platform') {
    await installation.end('SIGKILL')
    await installation.start()
    await new DatabaseFixture(installation).untilRunning(appEnvId)
  } else if (installation.ready.engine === 'docker') {
    const filters = { label: [`longshore.env=${appEnvId}`] }
    for (const { Id } of await testDocker().listContainers({ filters })) {
      await testDocker().getContainer(Id).kill({ signal: 'SIGKILL' })
    }
  } else if (victim === 'database') {
    const data = path.join(installation.home, 'engine', 'volumes', appEnvId, 'database', 'data')
    process.kill(Number(readFileSync(path.join(data, 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGKILL')
  } else {
    for (const pid of supervisorPids(installation.home)) process.kill(pid, 'SIGKILL')
  }
}

/** By their command line. */
function supervisorPids(home: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
        return words.includes('supervise') && words.includes(home)
      } catch {
        return false
      }
    })
    .map(Number)
}

function passed(atMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, atMs - performance.now())))
}
