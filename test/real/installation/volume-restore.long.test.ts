import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startAppEnv, stopAppEnv } from '../../../src/contract/app-env-actions.ts'
import { getAppEnvPods } from '../../../src/contract/app-env-reads.ts'
import { createAppEnv, getAppEnv } from '../../../src/contract/app-envs.ts'
import { createApp } from '../../../src/contract/apps.ts'
import { createAppEnvBackup, getAppEnvBackup, restoreAppEnvBackup } from '../../../src/contract/backups.ts'
import { availableEngines } from '../../../testkit/engines/available-engines.ts'
import { deploy, noWindow, sampleSource, untilDeployed } from '../../../testkit/platform/deploy.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { untilRead } from '../../../testkit/until.ts'

/** Fills its volume with 60 MB that follow from a word, and says what is in it. */
const server = `
const fs = require('node:fs')
const { createHash } = require('node:crypto')
const dir = process.env.DATA_DIR
require('node:http').createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://x')
  if (pathname === '/fill') for (let n = 0; n < 600; n += 1)
    fs.writeFileSync(dir + '/' + searchParams.get('word') + n, createHash('sha512').update(searchParams.get('word') + n).digest('hex').repeat(800))
  const hash = createHash('sha256')
  const names = fs.readdirSync(dir).sort()
  for (const name of names) hash.update(name).update(fs.readFileSync(dir + '/' + name))
  response.end(names.length + ' ' + hash.digest('hex'))
}).listen(process.env.PORT)
process.on('SIGTERM', () => process.exit(0))
`

describe.each(await availableEngines())('restoring a volume on the $engine engine', ({ engine, base }) => {
  const installation = new Installation({ LONGSHORE_ENGINE: engine })
  beforeAll(async () => void (await installation.start()))
  afterAll(() => installation.dispose())

  it('is whole although the platform is killed with -9 in the middle of it', async () => {
    const client = () => installation.client()
    const { accountId } = installation.ready
    const { appId } = await client().call(createApp, { name: 'keeper', accountId, port: 8080, ...noWindow })
    const { appEnvId } = await client().call(createAppEnv, {
      ...{ accountId, appId, name: 'prod', region: 'local', useVolume: true },
      envVars: [{ name: 'DATA_DIR', value: '/data', type: 'DEPLOY', isSecret: false }],
    })
    await deploy(installation, appEnvId, sampleSource(base, server))
    expect((await untilDeployed(installation, appEnvId)).currentDeployment?.failure).toBeNull()
    const host = (await client().call(getAppEnv, { appEnvId })).hosts[0]?.host ?? ''
    const answer = async (path: string) =>
      (
        await untilRead(
          () => installation.request(host, path),
          ({ status }) => status === 200,
          path,
        )
      ).body
    const stop = async () => {
      await client().call(stopAppEnv, { appEnvId })
      await untilRead(
        () => client().call(getAppEnvPods, { appEnvId }),
        ({ pods }) => pods.every(({ status }) => status === 'Succeeded' || status === 'Failed'),
        'the end of its container',
      )
    }
    const whole = await answer('/fill?word=first')
    const { backupId } = (await client().call(createAppEnvBackup, { appEnvId })).backup
    const ended = () =>
      untilRead(
        () => client().call(getAppEnvBackup, { backupId }),
        ({ backup, restores }) => [backup, ...restores].every(({ finishedAt }) => finishedAt !== null),
        'the end',
      )
    expect((await ended()).backup).toMatchObject({ status: 'SUCCEEDED', failure: null })
    let interrupted = 0
    for (const delayMs of [0, 80, 250]) {
      expect(await answer('/fill?word=second')).not.toBe(whole)
      await stop()
      await client().call(restoreAppEnvBackup, { appEnvId, backupId })
      await new Promise((resolve) => setTimeout(resolve, delayMs))
      await installation.end('SIGKILL')
      await installation.start()
      const { restores } = await client().call(getAppEnvBackup, { backupId })
      if (restores[0]?.finishedAt === null) interrupted += 1
      expect((await ended()).restores[0]).toMatchObject({ status: 'SUCCEEDED', failure: null })
      await client().call(startAppEnv, { appEnvId })
      expect(await answer('/'), `killed after ${delayMs} ms`).toBe(whole)
    }
    expect(interrupted).toBeGreaterThan(0)
  })
})
