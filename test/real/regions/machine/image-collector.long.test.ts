import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getAppEnvStatus } from '../../../../src/contract/app-env-reads.ts'
import {
  notifyCodeUpload,
  redeployAppEnv,
  requestDeployStorageKey,
} from '../../../../src/contract/deployments.ts'
import { imageRepository } from '../../../../src/engines/docker/image-names.ts'
import type { Engine } from '../../../../src/engines/engine.ts'
import { engineFiles } from '../../../../src/engines/process/engine-files.ts'
import { sampleDockerfile, sampleServerJs } from '../../../../testkit/builds/sample-sources.ts'
import { type AvailableEngine, availableEngines } from '../../../../testkit/engines/available-engines.ts'
import { DockerFixture } from '../../../../testkit/engines/docker-fixture.ts'
import { ProcessInstallation } from '../../../../testkit/engines/process-installation.ts'
import { tgz } from '../../../../testkit/platform/deploy.ts'
import { TestPlatform } from '../../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../../testkit/until.ts'

const here = await availableEngines()

interface OpenedEngine {
  engine: Engine
  /** Names of the images that the engine holds for an environment. */
  images(appEnvId: string): Promise<string[]>
  close(): Promise<void>
}

async function openEngine({ engine }: AvailableEngine): Promise<OpenedEngine> {
  if (engine === 'process') {
    const installation = await ProcessInstallation.create()
    const dir = engineFiles(installation.home).images
    return {
      engine: await installation.open(),
      images: async () => readdirSync(dir),
      close: () => installation.destroy(),
    }
  }
  const fixture = new DockerFixture()
  await fixture.open()
  return {
    engine: fixture.engine,
    images: async (appEnvId) => {
      const reference = [imageRepository(appEnvId)]
      const found = await fixture.docker.listImages({ filters: { reference } })
      return found.flatMap((image) => image.RepoTags ?? [])
    },
    close: () => fixture.close(),
  }
}

describe.each(here)('old images on the $engine engine', (place) => {
  let platform: TestPlatform
  let opened: OpenedEngine
  beforeAll(async () => {
    opened = await openEngine(place)
    platform = await TestPlatform.start({ engines: new Map([['local', opened.engine]]), keptVersions: 2 })
  })
  afterAll(async () => {
    await platform?.close()
    await opened?.close()
  })

  it('are removed after a deployment, and a version that is kept is deployed again without a build', async () => {
    const { client } = platform.admin
    const { appEnvId } = await platform.makeEnvironment()
    const running = (version: number) =>
      untilRead(
        () => client.call(getAppEnvStatus, { appEnvId }),
        ({ status, currentVersion, currentDeployment }) =>
          status === 'RUNNING' && currentVersion === version && currentDeployment?.status === 'DEPLOYED',
        `version ${version}`,
      )
    for (let version = 1; version <= 3; version++) {
      const { uploadUrl, storageKey } = await client.call(requestDeployStorageKey, { appEnvId })
      const files = {
        Dockerfile: sampleDockerfile(place.base),
        'server.js': `${sampleServerJs}\n// ${version}\n`,
      }
      await fetch(uploadUrl, { method: 'PUT', body: new Uint8Array(await tgz(files)) })
      await client.call(notifyCodeUpload, { appEnvId, storageKey })
      await running(version)
    }
    const images = await untilRead(
      () => opened.images(appEnvId),
      (names) => names.length === 2,
      'two images',
    )
    await expect(client.call(redeployAppEnv, { appEnvId, version: 1 })).rejects.toMatchObject({
      kind: 'conflict',
      details: expect.stringContaining('Kept versions: 2, 3.'),
    })
    await client.call(redeployAppEnv, { appEnvId, version: 2 })
    await running(2)
    expect((await opened.images(appEnvId)).sort()).toEqual(images.sort())
  })
})
