import { expect } from 'vitest'
import { startAppEnv, stopAppEnv } from '../../src/contract/app-env-actions.ts'
import { createAppEnv, deleteAppEnv, getAppEnv, updateAppEnv } from '../../src/contract/app-envs.ts'
import { createApp } from '../../src/contract/apps.ts'
import { createAppEnvBackup, getAppEnvBackup, restoreAppEnvBackup } from '../../src/contract/backups.ts'
import { sampleServerJs } from '../builds/sample-sources.ts'
import { untilRead } from '../until.ts'
import { deploy, noWindow, sampleSource, untilDeployed } from './deploy.ts'
import type { Installation } from './installation.ts'

/** A cluster may have to pull, copy and start again before it gives up. */
const limitMs = 240_000

interface Served {
  appEnvId: string
  host: string
}

/** Makes environments with a volume, and reads its content through their program. */
async function volumeApp(installation: Installation, base: string, code = sampleServerJs) {
  const client = installation.client()
  const { accountId } = installation.ready
  const { appId } = await client.call(createApp, { name: 'keeper', accountId, port: 8080, ...noWindow })
  const source = sampleSource(base, code)
  const hostOf = async (appEnvId: string) => (await client.call(getAppEnv, { appEnvId })).hosts[0]?.host ?? ''
  return {
    hostOf,
    async make(region: string): Promise<Served> {
      const { appEnvId } = await client.call(createAppEnv, {
        ...{ accountId, appId, name: `in ${region} ${Math.random()}`, region, useVolume: true },
        envVars: [{ name: 'DATA_DIR', value: '/data', type: 'DEPLOY', isSecret: false }],
      })
      await deploy(installation, appEnvId, source)
      expect((await untilDeployed(installation, appEnvId)).currentDeployment?.failure).toBeNull()
      return { appEnvId, host: await hostOf(appEnvId) }
    },
    untilAnswered: (host: string, path: string, body: string) =>
      untilRead(
        () => installation.request(host, path),
        (answer) => answer.status === 200 && answer.body === body,
        `${body} from ${host}${path}`,
        limitMs,
      ),
  }
}

/** `update-app-env` moves an environment with a volume through the regions: each one finds the files of the one before. */
export async function moveWithVolume(
  installation: Installation,
  { base, regions }: { base: string; regions: readonly string[] },
): Promise<string> {
  const client = installation.client()
  const app = await volumeApp(installation, base)
  const [first = '', ...others] = regions
  const { appEnvId, host } = await app.make(first)
  await app.untilAnswered(host, '/write?name=note&text=first', 'ok')
  let last = 'first'
  for (const region of others) {
    // The leftovers of an earlier move may still be being removed.
    await untilRead(
      () => client.call(updateAppEnv, { appEnvId, region }),
      () => true,
      `the move to ${region} begun`,
      limitMs,
    )
    await untilRead(
      () => client.call(getAppEnv, { appEnvId }),
      (one) => one.region === region && !one.changingRegion && one.status === 'RUNNING',
      `a move to ${region}`,
      limitMs,
    )
    const address = await app.hostOf(appEnvId)
    await app.untilAnswered(address, '/read?name=note', last)
    last = `in ${region}`
    await app.untilAnswered(address, `/write?name=note&text=${encodeURIComponent(last)}`, 'ok')
  }
  return appEnvId
}

/** A version that exits at once in a cluster runs again in its old region, with its files. */
export async function moveBackFromCluster(
  installation: Installation,
  { base, from, to }: { base: string; from: string; to: string },
): Promise<string> {
  const client = installation.client()
  const code = `if (process.env.KUBERNETES_SERVICE_HOST) process.exit(3)\n${sampleServerJs}`
  const { make, untilAnswered } = await volumeApp(installation, base, code)
  const { appEnvId, host } = await make(from)
  await untilAnswered(host, '/write?name=note&text=first', 'ok')
  for (let turn = 0; turn < 2; turn += 1) {
    await untilRead(
      () => client.call(updateAppEnv, { appEnvId, region: to }),
      () => true,
      'a move: what the last one left is gone',
      limitMs,
    )
    await untilRead(
      () => client.call(getAppEnv, { appEnvId }),
      (one) => one.region === from && !one.changingRegion && one.status === 'RUNNING',
      'the end of the move',
      limitMs,
    )
    await untilAnswered(host, '/read?name=note', 'first')
  }
  return appEnvId
}

/** Files come along into other environments by backup and restore, also those of an environment that is gone. */
export async function copyVolume(
  installation: Installation,
  { base, regions }: { base: string; regions: readonly string[] },
): Promise<void> {
  const client = installation.client()
  const { make, untilAnswered } = await volumeApp(installation, base)
  const untilEnded = (backupId: string) =>
    untilRead(
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
    const { backup: running } = await client.call(createAppEnvBackup, { appEnvId: into.appEnvId })
    expect((await untilEnded(running.backupId)).backup).toMatchObject({ status: 'SUCCEEDED', failure: null })
    from = into
  }
  await client.call(deleteAppEnv, { appEnvId: from.appEnvId })
}
