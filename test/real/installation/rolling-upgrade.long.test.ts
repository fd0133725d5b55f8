import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClient } from '../../../src/client/client.ts'
import { updateAppEnvVariables } from '../../../src/contract/app-env-actions.ts'
import { createAppEnv, getAppEnv } from '../../../src/contract/app-envs.ts'
import { createApp } from '../../../src/contract/apps.ts'
import { Balancer } from '../../../testkit/platform/balancer.ts'
import { ControlPlanes } from '../../../testkit/platform/control-planes.ts'
import { deploy, noWindow, sampleSource, untilDeployed } from '../../../testkit/platform/deploy.ts'
import { noPostgres, PostgresServer } from '../../../testkit/store/postgres-server.ts'
import { untilRead } from '../../../testkit/until.ts'

const run = promisify(execFile)
/** Beside dist/, where the build finds its packages. */
const next = `dist.next-${randomBytes(4).toString('hex')}`

describe.skipIf(noPostgres)(`a rolling upgrade${noPostgres ? `: left out, ${noPostgres}` : ''}`, () => {
  let server: PostgresServer
  let planes: ControlPlanes
  let balancer: Balancer
  let appEnvId: string
  let host: string
  const alder = () => planes.at('alder')
  const birch = () => planes.at('birch')

  beforeAll(async () => {
    await run(process.execPath, ['build.mjs', next, 'testkit/platform/next-version.ts'])
    server = await PostgresServer.start()
    planes = await ControlPlanes.start(server, { alder: 'north=process', birch: 'south=process' })
    balancer = await Balancer.start(
      ['alder', 'birch'].map((name) => Number(new URL(planes.at(name).ready.api).port)),
    )
    const client = alder().client()
    const { accountId } = alder().ready
    const { appId } = await client.call(createApp, {
      accountId,
      name: 'web',
      dockerPreset: 'CUSTOM',
      port: 8080,
    })
    const input = { accountId, appId, name: 'prod', region: 'north', ...noWindow }
    appEnvId = (await client.call(createAppEnv, input)).appEnvId
    await deploy(birch(), appEnvId, sampleSource('node:22-alpine'))
    await untilDeployed(alder(), appEnvId)
    host = (await client.call(getAppEnv, { appEnvId })).hosts[0]?.host ?? ''
  })
  afterAll(async () => {
    balancer?.close()
    await planes?.dispose()
    await server?.stop()
    rmSync(next, { recursive: true, force: true })
  })

  const migrations = async () =>
    (await server.query(planes.database, 'select name from migrations order by number')).map(
      ({ name }) => name,
    )
  const count = async () => {
    const { envVars } = await alder().client().call(getAppEnv, { appEnvId })
    return envVars.find(({ name }) => name === 'COUNT')?.value
  }
  const write = (value: number) => {
    const client = createClient({
      url: `${balancer.url}/api/public/v1`,
      token: alder().token,
      surface: 'cli',
    })
    const set = [{ name: 'COUNT', value: String(value), isSecret: false }]
    return client.call(updateAppEnvVariables, { appEnvId, set })
  }
  const upgrade = async (name: string) => {
    const plane = planes.at(name)
    await plane.end('SIGTERM')
    plane.program = path.resolve(next, 'longshore.js')
    await plane.start()
  }

  it('both versions serve one schema side by side, and every acknowledged write is there', async () => {
    let acknowledged = 0
    let isOver = false
    const writing = (async () => {
      for (let value = 1; !isOver; value += 1) {
        // A control plane that stops may cut a connection that the client keeps.
        await untilRead(() => write(value), Boolean, 'a stored write')
        acknowledged = value
      }
    })()
    const further = async (from: number) =>
      untilRead(
        async () => acknowledged,
        (value) => value >= from + 20,
        'further writes',
      )

    await further(0)
    const before = await migrations()
    await upgrade('birch')
    expect(await migrations()).toEqual([...before, 'of the next version'])
    // The old version, which did not restart, still works on the newer schema.
    await further(acknowledged)
    await alder()
      .client()
      .call(createApp, {
        ...{ accountId: alder().ready.accountId, name: 'by the old one', dockerPreset: 'CUSTOM', port: 8080 },
      })
    await untilRead(
      () => planes.instances('birch'),
      ({ length }) => length === 2,
      'both instances',
    )
    expect((await alder().request(host)).status).toBe(200)

    await upgrade('alder')
    await further(acknowledged)
    isOver = true
    await writing
    expect(Number(await count())).toBe(acknowledged)
    await untilRead(
      () => alder().request(host),
      ({ status }) => status === 200,
      'the app through the upgraded gateway',
    )
  })

  it('the version before does not start any more, and says so', async () => {
    const old = planes.add('cedar', 'none')
    await expect(old.start()).rejects.toThrow('This store was written by a newer Longshore')
  })
})
