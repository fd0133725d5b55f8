import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { applyAppEnvChanges } from '../../../src/contract/app-env-actions.ts'
import { getAppEnvPods } from '../../../src/contract/app-env-reads.ts'
import { createAppEnv, deleteAppEnv, getAppEnv, updateAppEnv } from '../../../src/contract/app-envs.ts'
import { createApp } from '../../../src/contract/apps.ts'
import { listRegions } from '../../../src/contract/regions.ts'
import { availableEngines } from '../../../testkit/engines/available-engines.ts'
import { testDocker } from '../../../testkit/engines/docker-images.ts'
import { deploy, noWindow, untilDeployed } from '../../../testkit/platform/deploy.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { copyVolume, moveWithVolume } from '../../../testkit/platform/volume-move.ts'
import { untilRead } from '../../../testkit/until.ts'

/** One name that both engines know: the host's Node here, an image of our own there. */
const base = { repo: 'node', tag: '20-longshore-test' }
const docker = (await availableEngines()).find(({ engine }) => engine === 'docker')

const server = `
// Only inside a container is /app really /app.
const box = require('node:fs').existsSync('/.dockerenv') ? 'docker' : 'process'
require('node:http').createServer((request, response) => response.end(box)).listen(process.env.PORT)
process.on('SIGTERM', () => process.exit(0))
`

describe.skipIf(!docker)('regions with an engine each', () => {
  const installation = new Installation({ LONGSHORE_REGIONS: 'here=process,box=docker' })
  beforeAll(async () => {
    await testDocker()
      .getImage(docker?.base ?? '')
      .tag(base)
    await installation.start()
  })
  afterAll(() => installation.dispose())

  it('2.1 an app moves to another region and back while it serves every request', async () => {
    const client = installation.client()
    const { accountId } = installation.ready
    const { regions } = await client.call(listRegions, {})
    expect(regions.map(({ region, engine }) => `${region}=${engine}`)).toEqual(['here=process', 'box=docker'])
    const { appId } = await client.call(createApp, { name: 'moving', accountId, port: 8080, ...noWindow })
    const { appEnvId } = await client.call(createAppEnv, { accountId, appId, name: 'prod', region: 'here' })
    const host = (await client.call(getAppEnv, { appEnvId })).hosts[0]?.host ?? ''
    await deploy(installation, appEnvId, {
      Dockerfile: `FROM ${base.repo}:${base.tag}\nWORKDIR /app\nCOPY server.js .\nCMD ["node", "server.js"]\n`,
      'server.js': server,
    })
    expect((await untilDeployed(installation, appEnvId)).currentDeployment?.failure).toBeNull()
    const seen: string[] = []
    let over = false
    const asking = (async () => {
      while (!over) {
        const { status, body } = await installation.request(host)
        seen.push(status === 200 ? body : `lost: ${status} ${body}`)
      }
    })()
    try {
      for (const [region, place] of [
        ['box', 'docker'],
        ['here', 'process'],
      ] as const) {
        await client.call(updateAppEnv, { appEnvId, region })
        const { changingRegion } = await client.call(getAppEnv, { appEnvId })
        if (!changingRegion) await client.call(applyAppEnvChanges, { appEnvId })
        await untilRead(
          async () => seen.at(-1),
          (last) => last === place,
          `answers from ${region}`,
          180_000,
        )
        await untilRead(
          () => client.call(getAppEnv, { appEnvId }),
          (environment) => !environment.changingRegion && environment.region === region,
          `the end of the move to ${region}`,
        )
      }
    } finally {
      over = true
      await asking
    }
    expect(seen.filter((answer) => answer.startsWith('lost'))).toEqual([])
    expect(new Set(seen)).toEqual(new Set(['process', 'docker']))
    const { pods } = await client.call(getAppEnvPods, { appEnvId })
    expect(pods).toHaveLength(1)
  })

  it('with a volume: its files come along, there and back', async () => {
    const image = `${base.repo}:${base.tag}`
    const appEnvId = await moveWithVolume(installation, { base: image, regions: ['here', 'box', 'here'] })
    await installation.client().call(deleteAppEnv, { appEnvId })
  })

  it('the files of a volume come along into another environment by backup and restore', async () => {
    await copyVolume(installation, { base: `${base.repo}:${base.tag}`, regions: ['here', 'box'] })
  })
})
