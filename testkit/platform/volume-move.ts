import { expect } from 'vitest'
import { startAppEnv, stopAppEnv } from '../../src/contract/app-env-actions.ts'
import { createAppEnv, deleteAppEnv, getAppEnv } from '../../src/contract/app-envs.ts'
import { createApp } from '../../src/contract/apps.ts'
import { createAppEnvBackup, getAppEnvBackup, restoreAppEnvBackup } from '../../src/contract/backups.ts'
import { sampleServerJs } from '../builds/sample-sources.ts'
import type { Installation } from './installation.ts'
import { deploy, noWindow, sampleSource, until, untilDeployed } from './story.ts'

const limitMs = 30_000

/**
 * Follows the refusal of `update-app-env` for an environment with a volume: its files come along into each region by
 * backup and restore, also those of an environment that is gone.
 */
export async function moveVolume(
  installation: Installation,
  { base, regions }: { base: string; regions: readonly string[] },
): Promise<void> {
  const client = installation.client()
  const { accountId } = installation.ready
  const { appId } = await client.call(createApp, { name: 'keeper', accountId, port: 8080, ...noWindow })
  const source = sampleSource(base, sampleServerJs)

  async function make(region: string) {
    const { appEnvId } = await client.call(createAppEnv, {
      ...{ accountId, appId, name: `in ${region} ${Math.random()}`, region, useVolume: true },
      envVars: [{ name: 'DATA_DIR', value: '/data', type: 'DEPLOY', isSecret: false }],
    })
    await deploy(installation, appEnvId, source)
    expect((await untilDeployed(installation, appEnvId)).currentDeployment?.failure).toBeNull()
    return { appEnvId, host: (await client.call(getAppEnv, { appEnvId })).hosts[0]?.host ?? '' }
  }
  const untilAnswered = (host: string, path: string, body: string) =>
    until(
      () => installation.request(host, path),
      (answer) => answer.status === 200 && answer.body === body,
      `${body} from ${host}${path}`,
      limitMs,
    )
  const untilEnded = (backupId: string) =>
    until(
      () => client.call(getAppEnvBackup, { backupId }),
      ({ backup, restores }) => [backup, ...restores].every(({ finishedAt }) => finishedAt !== null),
      'the end',
      limitMs,
    )

  const [first = '', ...others] = regions
  let from = await make(first)
  await untilAnswered(from.host, '/write?name=note&text=kept', 'ok')
  for (const region of others) {
    const into = await make(region)
    await untilAnswered(into.host, '/write?name=other&text=gone', 'ok')
    await client.call(stopAppEnv, { appEnvId: into.appEnvId })
    await client.call(stopAppEnv, { appEnvId: from.appEnvId })
    const { backup } = await client.call(createAppEnvBackup, { appEnvId: from.appEnvId })
    expect((await untilEnded(backup.backupId)).backup).toMatchObject({ status: 'SUCCEEDED', failure: null })
    await client.call(deleteAppEnv, { appEnvId: from.appEnvId })
    const input = { appEnvId: into.appEnvId, backupId: backup.backupId }
    await client.call(restoreAppEnvBackup, input)
    expect((await untilEnded(backup.backupId)).restores[0]).toMatchObject({
      ...{ status: 'SUCCEEDED', failure: null },
    })
    await client.call(startAppEnv, { appEnvId: into.appEnvId })
    await untilAnswered(into.host, '/read?name=note', 'kept')
    await untilAnswered(into.host, '/read?name=other', 'nothing')
    from = into
  }
  const running = await client.call(createAppEnvBackup, { appEnvId: from.appEnvId })
  expect((await untilEnded(running.backup.backupId)).backup).toMatchObject({ status: 'SUCCEEDED' })
  await client.call(deleteAppEnv, { appEnvId: from.appEnvId })
}
