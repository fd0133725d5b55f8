import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startAppEnv, stopAppEnv } from '../../../src/contract/app-env-actions.ts'
import {
  getAppEnvHistory,
  getAppEnvPods,
  getAppEnvStatus,
  getLogs,
} from '../../../src/contract/app-env-reads.ts'
import { createAppEnv, deleteAppEnv, getAppEnv } from '../../../src/contract/app-envs.ts'
import { createApp } from '../../../src/contract/apps.ts'
import { createAppEnvBackup, listAppEnvBackups, restoreAppEnvBackup } from '../../../src/contract/backups.ts'
import { listDatabasePresets, rotateDatabasePassword } from '../../../src/contract/databases.ts'
import { deployAppEnvImage } from '../../../src/contract/deployments.ts'
import { listRegions } from '../../../src/contract/regions.ts'
import { cluster, kubectl } from '../../../testkit/kubernetes/cluster.ts'
import { builderSettings, ClusterInstallation } from '../../../testkit/kubernetes/cluster-installation.ts'
import { shellImage } from '../../../testkit/kubernetes/images.ts'
import {
  canPushImages,
  clusterImageSource,
  pushDatabaseImages,
} from '../../../testkit/kubernetes/pushed-images.ts'
import { untilDeployed } from '../../../testkit/platform/deploy.ts'
import { untilRead } from '../../../testkit/until.ts'

const limitMs = 120_000
const testLimitMs = 600_000

/** Writes a key with the address of the reference, answers with it, and says so. */
const writerScript = `mkdir -p /tmp/www
set -- $(echo "$DB_URL" | sed -E 's#redis://default:([^@]*)@([^:]*):([0-9]*)#\\1 \\2 \\3#')
until grep -q app /tmp/www/index.html; do
  printf 'AUTH %s\\r\\nSET from app\\r\\nGET from\\r\\nQUIT\\r\\n' "$1" | nc "$2" "$3" > /tmp/www/index.html
  sleep 0.2
done
echo "asked $2"
exec httpd -f -p "$PORT" -h /tmp/www`

describe.skipIf(!cluster.kubeconfig || !cluster.registry || !canPushImages)(
  'databases of a cluster region',
  () => {
    let installation: ClusterInstallation
    beforeAll(async () => {
      await pushDatabaseImages()
      installation = new ClusterInstallation(
        { LONGSHORE_CLOCK_SCALE: '60', LONGSHORE_DATABASE_IMAGES: clusterImageSource },
        { settings: builderSettings },
      )
      await installation.start()
    }, testLimitMs)
    afterAll(() => installation.dispose())

    async function make(dockerPreset: 'REDIS' | 'MYSQL', values: object = {}) {
      const client = installation.client()
      const { accountId } = installation.ready
      const { appId } = await client.call(createApp, {
        name: dockerPreset.toLowerCase(),
        accountId,
        dockerPreset,
      })
      const { appEnvId } = await client.call(createAppEnv, {
        ...{ accountId, appId, name: 'data', region: 'eu', ...values },
      })
      const { currentDeployment } = await untilDeployed(installation, appEnvId)
      expect(currentDeployment).toMatchObject({ status: 'DEPLOYED', failure: null })
      const { hosts } = await client.call(getAppEnv, { appEnvId, decrypt: true })
      return { client, appEnvId, host: hosts[0]!.host, password: new URL(hosts[0]!.url).password }
    }

    const selector = (appEnvId: string) => ['-l', `longshore.dev/environment=${appEnvId}`]
    async function podOf(appEnvId: string): Promise<[namespace: string, pod: string]> {
      const [namespace = ''] = await installation.namespaces()
      const pods = await kubectl(['get', 'pods', '-n', namespace, ...selector(appEnvId), '-o', 'name'])
      return [namespace, pods.trim()]
    }
    /** The words of a command inside the container of a database. */
    async function inside(appEnvId: string, ...command: string[]): Promise<string> {
      const [namespace, pod] = await podOf(appEnvId)
      return (await kubectl(['exec', '-n', namespace, pod, '--', ...command])).trim()
    }
    /** Deletes the pod and waits for the next one, which has the same name. */
    async function replacePod(appEnvId: string): Promise<void> {
      const [namespace, pod] = await podOf(appEnvId)
      const read = () => installation.client().call(getAppEnvPods, { appEnvId })
      const before = (await read()).pods.map(({ podId }) => podId)
      await kubectl(['delete', '-n', namespace, pod])
      await untilRead(
        read,
        ({ pods }) => pods.some(({ podId, containerReady }) => containerReady && !before.includes(podId)),
        'the next pod',
        limitMs,
      )
    }
    const untilReady = (appEnvId: string) =>
      untilRead(
        () => installation.client().call(getAppEnvStatus, { appEnvId }),
        ({ status, containers }) => status === 'RUNNING' && containers.ready === 1,
        'a database that answers',
        limitMs,
      )

    async function backUp(appEnvId: string): Promise<string> {
      const client = installation.client()
      const { backup } = await client.call(createAppEnvBackup, { appEnvId })
      const { backups } = await untilRead(
        () => client.call(listAppEnvBackups, { accountId: installation.ready.accountId, appEnvId }),
        (list) => list.backups.some(({ status }) => status === 'SUCCEEDED' || status === 'FAILED'),
        'a finished backup',
        limitMs,
      )
      expect(backups[0]).toMatchObject({ backupId: backup.backupId, status: 'SUCCEEDED', failure: null })
      return backup.backupId
    }
    async function restore(appEnvId: string, backupId: string): Promise<void> {
      const client = installation.client()
      await client.call(restoreAppEnvBackup, { appEnvId, backupId })
      const { activities } = await untilRead(
        () => client.call(getAppEnvHistory, { appEnvId }),
        (history) =>
          history.activities.some(({ activity, status }) => activity === 'RESTORE' && status !== 'PENDING'),
        'a finished restore',
        limitMs,
      )
      const outcomes = activities.filter(({ activity }) => activity === 'RESTORE').map(({ status }) => status)
      expect(outcomes).not.toContain('FAILED')
    }

    /** The password after a rotation. */
    async function rotated(appEnvId: string): Promise<string> {
      const client = installation.client()
      await client.call(rotateDatabasePassword, { appEnvId })
      await untilRead(
        () => client.call(getAppEnvHistory, { appEnvId }),
        ({ activities }) =>
          activities.some((one) => one.activity === 'ROTATE_PASSWORD' && one.status === 'DONE'),
        'a rotated password',
        limitMs,
      )
      const { hosts } = await client.call(getAppEnv, { appEnvId, decrypt: true })
      return new URL(hosts[0]!.url).password
    }

    it('says which can run: those whose images are there, PostgreSQL with its operator only', async () => {
      const client = installation.client()
      const { regions } = await untilRead(
        () => client.call(listRegions, {}),
        (list) => list.regions[0]!.capabilities.databases.length > 0,
        'the databases of the region',
      )
      expect([...regions[0]!.capabilities.databases].sort()).toEqual(['MYSQL', 'REDIS'])
      const { presets } = await client.call(listDatabasePresets, {})
      const reasonOf = (name: string) =>
        presets.find(({ dockerPreset }) => dockerPreset === name)?.unavailableReason
      expect(reasonOf('POSTGRESQL')).toContain('no CloudNativePG operator')
      expect(reasonOf('MONGODB')).toContain('the registry of the region does not have it')
    })

    it(
      'Redis: an app writes by reference; data outlives pods; backup, restore, password, stop, removal',
      async () => {
        const { client, appEnvId, password } = await make('REDIS')
        const { accountId } = installation.ready
        const image = await shellImage('writer', writerScript)
        const { appId } = await client.call(createApp, {
          name: 'writer',
          accountId,
          port: 8080,
          useImage: true,
        })
        const { cliEnvName: envName } = await client.call(getAppEnv, { appEnvId })
        const app = await client.call(createAppEnv, {
          ...{ accountId, appId, name: 'prod', region: 'eu' },
          envVars: [{ name: 'DB_URL', type: 'DEPLOY', isSecret: true, from: { envName, field: 'url' } }],
        })
        await client.call(deployAppEnvImage, { appEnvId: app.appEnvId, image })
        expect((await untilDeployed(installation, app.appEnvId)).currentDeployment?.failure).toBeNull()
        const { hosts } = await client.call(getAppEnv, { appEnvId: app.appEnvId })
        const answer = await untilRead(
          () => installation.request(hosts[0]!.host),
          ({ status }) => status === 200,
          'the app',
          limitMs,
        )
        expect(answer.body).toContain('app')

        const redis = (...words: string[]) => redisIn(appEnvId, password, ...words)
        expect(await redis('GET', 'from')).toBe('app')
        await replacePod(appEnvId)
        expect(await redis('GET', 'from')).toBe('app')

        const backupId = await backUp(appEnvId)
        await redis('SET', 'from', 'elsewhere')
        await restore(appEnvId, backupId)
        expect(await redis('GET', 'from')).toBe('app')

        const next = await rotated(appEnvId)
        expect(next).not.toBe(password)
        expect(await redisIn(appEnvId, next, 'GET', 'from')).toBe('app')

        await client.call(stopAppEnv, { appEnvId })
        await untilRead(
          async () => (await podOf(appEnvId))[1],
          (name) => name === '',
          'no container',
          limitMs,
        )
        await client.call(startAppEnv, { appEnvId })
        await untilReady(appEnvId)
        expect(await redisIn(appEnvId, next, 'GET', 'from')).toBe('app')
        const { logs } = await client.call(getLogs, { appEnvId })
        expect(logs.length).toBeGreaterThan(0)
        expect(JSON.stringify(logs)).not.toContain(next)

        await client.call(deleteAppEnv, { appEnvId: app.appEnvId })
        await client.call(deleteAppEnv, { appEnvId })
        const [namespace = ''] = await installation.namespaces()
        await untilRead(
          () =>
            kubectl([
              ...['get', 'statefulsets,services,secrets,persistentvolumeclaims', '-n', namespace],
              ...[...selector(appEnvId), '-o', 'name'],
            ]),
          (names) => names.trim() === '',
          'no object of the deleted database',
          limitMs,
        )
      },
      testLimitMs,
    )

    const redisIn = (appEnvId: string, password: string, ...words: string[]) =>
      inside(appEnvId, 'redis-cli', '--no-auth-warning', '-a', password, ...words)

    it(
      'MySQL: data outlives pods; backup and restore by its programs; password',
      async () => {
        const { client, appEnvId, password } = await make('MYSQL', { disk: 2_048 })
        const { hosts } = await client.call(getAppEnv, { appEnvId })
        const { username, pathname } = new URL(hosts[0]!.url)
        const sql = (text: string, word = password) =>
          inside(
            appEnvId,
            ...['env', `MYSQL_PWD=${word}`, 'mariadb', '--no-defaults', '--protocol=tcp', '-h', '127.0.0.1'],
            ...['-u', username, '-N', '-B', '-e', text, pathname.slice(1)],
          )
        await sql("create table kept (word text); insert into kept values ('here')")
        await replacePod(appEnvId)
        expect(await sql('select word from kept')).toBe('here')
        const backupId = await backUp(appEnvId)
        await sql("update kept set word = 'lost'")
        await restore(appEnvId, backupId)
        expect(await sql('select word from kept')).toBe('here')

        const next = await rotated(appEnvId)
        expect(await sql('select word from kept', next)).toBe('here')
        await expect(sql('select 1')).rejects.toThrow()
      },
      testLimitMs,
    )
  },
)
