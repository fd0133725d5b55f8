import { describe, expect, it } from 'vitest'
import { stopAppEnv } from '../../../src/contract/app-env-actions.ts'
import { getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import { deployAppEnvImage } from '../../../src/contract/deployments.ts'
import { shellFixture } from '../../../testkit/cli/shell-fixture.ts'
import { untilRead } from '../../../testkit/until.ts'

describe('longshore backup and restore', () => {
  const fixture = shellFixture()
  const { run, json, created } = fixture

  it('says what refuses a restore before it wants to be confirmed, and lists restores below the backups', async () => {
    const { client } = fixture.platform.admin
    const envName = await created('--use-image', '--use-volume')
    await client.call(deployAppEnvImage, { envName, image: 'registry.example.com/team/app:1' })
    await untilRead(
      () => client.call(getAppEnvStatus, { envName }),
      ({ status }) => status === 'RUNNING',
      'RUNNING',
    )
    const { backupId } = (await json('backup', 'create', envName)).backup
    expect((await run('backup', 'list', envName)).out).not.toContain('restoreId')

    const restore = ['restore', backupId, '--env', envName]
    expect(await run(...restore)).toMatchObject({
      code: 1,
      err: expect.stringContaining('A volume is restored while its environment is stopped'),
    })
    await client.call(stopAppEnv, { envName })
    expect(await run(...restore)).toMatchObject({ code: 2, err: expect.stringContaining('with --yes') })
    expect((await json('backup', 'list')).restores).toEqual([])
    expect(await run(...restore, '--yes')).toMatchObject({ code: 0 })
    const listed = (await run('backup', 'list', envName)).out
    expect(listed).toMatch(
      new RegExp(`\n\nrestoreId .*\nrst_\\w+ +${envName} +\\S+ +SUCCEEDED +${backupId} +-\n$`),
    )
    expect((await json('backup', 'list', 'other')).restores).toEqual([])
  })
})
