/**
 * `kill -9` of the control plane and of a real PostgreSQL in turn while a writer commits row after row: no
 * committed row may be lost, and exactly one container runs at the end.
 *
 *   npm run build && npm run bench -- databases [kills] [process|docker]
 *       20 kills on each by default
 */

import { deleteAppEnv } from '../src/contract/app-envs.ts'
import { dockerSocketAnswers } from '../src/engines/docker/socket.ts'
import { CommittingWriter } from '../testkit/databases/committing-writer.ts'
import { DatabaseFixture } from '../testkit/databases/fixture.ts'
import { databaseImageSource, ensureDatabaseImages } from '../testkit/databases/images.ts'
import { killEach, type Victim } from '../testkit/databases/kills.ts'
import { leftOnDocker } from '../testkit/engines/docker-images.ts'
import { median } from '../testkit/figures.ts'
import { Installation } from '../testkit/platform/installation.ts'
import { untilRead } from '../testkit/until.ts'

const kills = Number(process.argv[2] ?? 20)
const wanted = process.argv[3]
/** A program that lives shorter than this waits longer and longer for its next start. */
const livesMs = 10_500

const victims: Record<'process' | 'docker', Victim[]> = {
  process: ['platform', 'database', 'platform', 'supervisor'],
  docker: ['platform', 'database'],
}

async function measure(engine: 'process' | 'docker'): Promise<number> {
  const installation = new Installation({
    LONGSHORE_ENGINE: engine,
    ...(engine === 'docker' ? { LONGSHORE_DATABASE_IMAGES: databaseImageSource } : {}),
  })
  try {
    await installation.start()
    const fixture = new DatabaseFixture(installation)
    const problem = await fixture.problem('POSTGRESQL')
    if (problem !== null) {
      console.log(`${engine}: SKIPPED, ${problem}`)
      return 0
    }
    const appEnvId = await fixture.make('POSTGRESQL', { dockerPresetVersion: '15' })
    const writer = new CommittingWriter(await fixture.url(appEnvId))
    await writer.start()
    const startedMs = performance.now()
    const figures = await killEach(installation, appEnvId, writer, {
      kills,
      victims: victims[engine],
      livesMs,
    })
    const { committed, awayMs, wrong } = figures
    const seconds = Math.round((performance.now() - startedMs) / 1_000)
    console.log(
      `${engine}: ${kills} times kill -9 (${victims[engine].join(', ')} in turn) over ${committed} committed rows in ${seconds} s: ` +
        `${wrong.length} lost or wrong; a killed database commits again after ${Math.round(median(awayMs))} ms median, ` +
        `${Math.round(Math.max(...awayMs))} ms at most`,
    )
    for (const one of wrong.slice(0, 10)) console.log(`  ${one}`)
    await installation.client().call(deleteAppEnv, { appEnvId })
    const left = () => (engine === 'docker' ? leftOnDocker(appEnvId) : Promise.resolve([]))
    await untilRead(left, (all) => all.length === 0, 'nothing left on the engine')
    return wrong.length
  } finally {
    await installation.dispose()
  }
}

let wrong = 0
if (wanted !== 'docker') wrong += await measure('process')
if (wanted !== 'process') {
  const images = (await dockerSocketAnswers()) ? await ensureDatabaseImages() : []
  if (images.includes('postgres')) wrong += await measure('docker')
  else console.log('docker: SKIPPED, no Docker answers here or no PostgreSQL is there to make an image of')
}
process.exit(wrong === 0 ? 0 : 1)
