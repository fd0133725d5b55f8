import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { updateAppEnvVariables } from '../../../src/contract/app-env-actions.ts'
import { getAppEnv } from '../../../src/contract/app-envs.ts'
import { deploy, makeFunction, sampleSource, untilDeployed } from '../../../testkit/platform/deploy.ts'
import { Installation } from '../../../testkit/platform/installation.ts'

const run = promisify(execFile)

describe('longshore secrets rotate', () => {
  const installation = new Installation({ LONGSHORE_ENGINE: 'process' })
  afterAll(() => installation.dispose())

  const rotate = (...options: string[]) =>
    run(process.execPath, ['dist/longshore.js', 'secrets', 'rotate', ...options], {
      env: { ...process.env, LONGSHORE_HOME: installation.home },
    })
  const masterKey = () => readFileSync(path.join(installation.home, 'master-key'), 'utf8')

  it('rotates data key and master key while the platform serves, and after a kill -9', async () => {
    await installation.start()
    const { appEnvId, host } = await makeFunction(installation, 'sealed', { minScale: 1 })
    const set = (value: string) =>
      installation
        .client()
        .call(updateAppEnvVariables, { appEnvId, set: [{ name: 'COLOR', value, isSecret: true }] })
    const color = async () =>
      (await installation.client().call(getAppEnv, { appEnvId, decrypt: true })).envVars[0]?.value
    await set('red')
    await deploy(installation, appEnvId, sampleSource('node:20-alpine'))
    await untilDeployed(installation, appEnvId)
    const first = masterKey()
    const { stderr } = await rotate('--master')
    expect(stderr).toMatch(/New data key key_.*Removed 1 old data key\.\nNew master key in /s)
    expect(stderr).not.toContain(masterKey().trim())
    expect(masterKey()).not.toBe(first)
    const read = await installation.client().call(getAppEnv, { appEnvId })
    expect(read.pendingChanges.hasDeployChanges).toBe(false)
    expect(await color()).toBe('red')
    // The platform that has served all the while goes on with the new key, and takes another one.
    await set('blue')
    await rotate()
    expect(await color()).toBe('blue')
    expect(JSON.parse((await installation.request(host)).body).color).toBe('red')
    await installation.end('SIGKILL')
    await rotate('--master')
    await installation.start()
    expect(await color()).toBe('blue')
    await deploy(installation, appEnvId, sampleSource('node:20-alpine'))
    await untilDeployed(installation, appEnvId)
    expect(JSON.parse((await installation.request(host)).body).color).toBe('blue')
  })

  it('says what is wrong with a wrong call, and changes nothing', async () => {
    const before = masterKey()
    await expect(rotate('--mastre')).rejects.toMatchObject({ code: 2 })
    await expect(rotate('--new-master-key', '/nowhere')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('--new-master-key replaces a master key in LONGSHORE_MASTER_KEY'),
    })
    expect(masterKey()).toBe(before)
  })
})
