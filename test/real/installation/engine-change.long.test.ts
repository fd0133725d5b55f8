import { execFile } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deleteAppEnv } from '../../../src/contract/app-envs.ts'
import { deploy, makeFunction, sampleSource, untilDeployed } from '../../../testkit/platform/deploy.ts'
import { Installation } from '../../../testkit/platform/installation.ts'

const run = promisify(execFile)

/** Answers a ping and nothing else: enough to be chosen. */
const docker = http.createServer((request, response) => {
  response.statusCode = request.url === '/_ping' ? 200 : 500
  response.end('OK')
})

describe('a region keeps the engine of its deployments', () => {
  const installation = new Installation()
  const socket = path.join(installation.home, 'docker.sock')
  const withDocker = { DOCKER_HOST: `unix://${socket}` }
  const noDocker = { DOCKER_HOST: `unix://${installation.home}/none.sock` }
  beforeAll(async () => {
    docker.listen(socket)
    await once(docker, 'listening')
  })
  afterAll(async () => {
    docker.close()
    await installation.dispose()
  })

  it('auto stays with it when Docker is started later; another choice is refused with the way to move', async () => {
    expect(await installation.start(noDocker)).toMatchObject({ engine: 'process' })
    const { appEnvId, host } = await makeFunction(installation, 'staying', { minScale: 1 })
    await deploy(installation, appEnvId, sampleSource('node:20-alpine'))
    await untilDeployed(installation, appEnvId)
    await installation.end('SIGTERM')

    expect(await installation.start(withDocker)).toMatchObject({ engine: 'process' })
    expect(installation.stderr).toContain('To move them: LONGSHORE_REGIONS=local=process,box=docker')
    expect((await installation.request(host)).status).toBe(200)
    await installation.end('SIGTERM')

    await expect(installation.start({ ...withDocker, LONGSHORE_ENGINE: 'docker' })).rejects.toThrow(
      'The region local runs on the process engine.\nstaying-prod would lose images and volumes on docker. Run both with LONGSHORE_REGIONS=local=process,box=docker',
    )
    expect((await installation.request(host)).status).toBe(200)

    // `stop` in a shell with other settings ends what really runs, and needs no key.
    const { stderr } = await run(process.execPath, ['dist/longshore.js', 'stop'], {
      env: {
        ...process.env,
        ...withDocker,
        LONGSHORE_HOME: installation.home,
        LONGSHORE_MASTER_KEY: 'ab'.repeat(32),
      },
    })
    expect(stderr).toContain('stopped 1 container and the gateway')

    // With nothing deployed any more, the choice is free again: it gets as far as talking to Docker.
    await installation.start(noDocker)
    await installation.client().call(deleteAppEnv, { appEnvId })
    await installation.end('SIGTERM')
    const failure = await installation
      .start({ ...withDocker, LONGSHORE_ENGINE: 'docker' })
      .then(() => 'none', String)
    expect(failure.slice(failure.lastIndexOf('Error: '))).not.toContain('would lose')
    expect(await installation.start(noDocker)).toMatchObject({ engine: 'process' })
  })
})
