import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startAppEnv, stopAppEnv } from '../../../../src/contract/app-env-actions.ts'
import { getAppEnvPods, getAppEnvStatus } from '../../../../src/contract/app-env-reads.ts'
import { deleteAppEnv } from '../../../../src/contract/app-envs.ts'
import { notifyCodeUpload, requestDeployStorageKey } from '../../../../src/contract/deployments.ts'
import type { Operation, OutputOf } from '../../../../src/contract/operation.ts'
import { newId } from '../../../../src/domain/ids.ts'
import type { Engine } from '../../../../src/engines/engine.ts'
import { AppError } from '../../../../src/errors.ts'
import { listOpenRuns } from '../../../../src/store/repositories/usage.ts'
import { sampleDockerfile, sampleServerJs } from '../../../../testkit/builds/sample-sources.ts'
import { type AvailableEngine, availableEngines } from '../../../../testkit/engines/available-engines.ts'
import { DockerFixture } from '../../../../testkit/engines/docker-fixture.ts'
import { ProcessInstallation } from '../../../../testkit/engines/process-installation.ts'
import { FaultyDb } from '../../../../testkit/fakes/faulty-db.ts'
import { tgz } from '../../../../testkit/platform/deploy.ts'
import { TestPlatform } from '../../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../../testkit/until.ts'

/** Each write fails in one of so many rounds, with writes that succeed in between. */
const rounds = 3
/** Ten seconds are shown on a clock moved by hand (store-faults.long.test.ts); here containers take real time. */
const patienceMs = 120_000

const here = await availableEngines()

interface OpenEngine {
  engine: Engine
  close(): Promise<void>
}

async function openEngine({ engine }: AvailableEngine): Promise<OpenEngine> {
  if (engine === 'process') {
    const installation = await ProcessInstallation.create()
    return { engine: await installation.open(), close: () => installation.destroy() }
  }
  const fixture = new DockerFixture()
  await fixture.open()
  return { engine: fixture.engine, close: () => fixture.close() }
}

describe.each(here)('a store of which one write fails, on the $engine engine', (place) => {
  let db: FaultyDb
  let platform: TestPlatform
  let opened: Awaited<ReturnType<typeof openEngine>>
  beforeAll(async () => {
    opened = await openEngine(place)
    platform = await TestPlatform.start({
      engines: new Map([['local', opened.engine]]),
      wrapDb: (inner) => {
        db = new FaultyDb(inner)
        return db
      },
    })
  })
  afterAll(async () => {
    await platform?.close()
    await opened?.close()
  })

  async function call<Row extends Operation>(
    row: Row,
    input: Record<string, unknown>,
  ): Promise<OutputOf<Row>> {
    const idempotencyKey = newId('evt')
    try {
      return await platform.admin.client.call(row, input, { idempotencyKey })
    } catch (error) {
      if (!(error instanceof AppError) || error.kind !== 'unavailable') throw error
      return platform.admin.client.call(row, input, { idempotencyKey })
    }
  }

  async function seen(appEnvId: string) {
    const { client } = platform.admin
    const { status, containers } = await client.call(getAppEnvStatus, { appEnvId })
    const { pods } = await client.call(getAppEnvPods, { appEnvId })
    return { status, ready: containers.ready, restarts: pods.map(({ restartCount }) => restartCount) }
  }

  /** What is left of an environment on the engine, and what is still billed. */
  async function left(appEnvId: string): Promise<number[]> {
    const containers = (await opened.engine.list()).filter((one) => one.appEnvId === appEnvId)
    const runs = await platform.db.read((tx) => listOpenRuns(tx))
    return [containers.length, runs.filter((run) => run.appEnvId === appEnvId).length]
  }

  const becomes = <T>(what: string, read: () => Promise<T>, expected: T) =>
    untilRead(read, (now) => JSON.stringify(now) === JSON.stringify(expected), what, patienceMs)

  async function scenario(arm: () => void): Promise<void> {
    const { appEnvId } = await platform.makeEnvironment()
    const { uploadUrl, storageKey } = await call(requestDeployStorageKey, { appEnvId })
    const source = await tgz({ Dockerfile: sampleDockerfile(place.base), 'server.js': sampleServerJs })
    await fetch(uploadUrl, { method: 'PUT', body: new Uint8Array(source) })
    arm()
    await call(notifyCodeUpload, { appEnvId, storageKey })
    const serves = (restarts: number) => ({ status: 'RUNNING', ready: 1, restarts: [restarts] })
    await becomes('deployed', () => seen(appEnvId), serves(0))
    const { host, port } = platform.routes.routes.get(appEnvId)!.containers[0]!
    await fetch(`http://${host}:${port}/exit?code=3`).catch(() => {})
    await becomes('replaced', () => seen(appEnvId), serves(1))
    await call(stopAppEnv, { appEnvId })
    await becomes('stopped', () => seen(appEnvId), { status: 'STOPPED', ready: 0, restarts: [] })
    await becomes('nothing running', () => left(appEnvId), [0, 0])
    await call(startAppEnv, { appEnvId })
    await becomes('started', () => seen(appEnvId), serves(0))
    await call(deleteAppEnv, { appEnvId })
    await becomes('nothing left', () => left(appEnvId), [0, 0])
  }

  it('all becomes as if it had not, whichever write it was', async () => {
    for (let round = 1; round <= rounds; round += 1) {
      await scenario(() => db.arm(round, 'rolled-back', rounds))
      db.disarm()
      expect(db.failures, `round ${round}`).toBeGreaterThan(2)
    }
  }, 900_000)
})
