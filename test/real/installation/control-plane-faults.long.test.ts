import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAlert, getAlert } from '../../../src/contract/alerts.ts'
import { getLogs } from '../../../src/contract/app-env-reads.ts'
import { createAppEnv, getAppEnv, updateAppEnv } from '../../../src/contract/app-envs.ts'
import { createApp } from '../../../src/contract/apps.ts'
import { createContactPoint } from '../../../src/contract/contact-points.ts'
import { diagnoseAppEnv } from '../../../src/contract/diagnosis.ts'
import { listRegions } from '../../../src/contract/regions.ts'
import { Receiver } from '../../../testkit/alerting/receiver.ts'
import { ControlPlanes } from '../../../testkit/platform/control-planes.ts'
import { deploy, sampleSource, untilDeployed } from '../../../testkit/platform/deploy.ts'
import { noPostgres, PostgresServer } from '../../../testkit/store/postgres-server.ts'
import { untilRead } from '../../../testkit/until.ts'

const names = ['alder', 'birch', 'cedar']

describe.skipIf(noPostgres)(
  `faults of control planes${noPostgres ? `: left out, ${noPostgres}` : ''}`,
  () => {
    let server: PostgresServer
    let planes: ControlPlanes
    let receiver: Receiver
    let accountId: string
    let appEnvId: string
    let contactPointId: string
    const alertIds: string[] = []
    beforeAll(async () => {
      server = await PostgresServer.start()
      receiver = await Receiver.start()
      const machines = { alder: 'north=process', birch: 'none', cedar: 'none' }
      planes = await ControlPlanes.start(server, machines, {
        LONGSHORE_CLOCK_SCALE: '60',
        LONGSHORE_ALLOW_PRIVATE_WEBHOOKS: 'true',
      })
      accountId = planes.at('alder').ready.accountId
      const client = planes.at('birch').client()
      const { appId } = await client.call(createApp, {
        accountId,
        name: 'web',
        dockerPreset: 'CUSTOM',
        port: 8080,
      })
      ;({ appEnvId } = await client.call(createAppEnv, { accountId, appId, name: 'prod', region: 'north' }))
      await deploy(planes.at('cedar'), appEnvId, sampleSource('node:22-alpine'))
      await untilDeployed(planes.at('birch'), appEnvId)
      const point = { accountId, name: 'Ops', type: 'webhook', config: { url: receiver.url('/hook') } }
      ;({ contactPointId } = (await client.call(createContactPoint, point as never)).contactPoint)
    })
    afterAll(async () => {
      await planes?.dispose()
      await receiver?.close()
      await server?.stop()
    })

    const holder = (observer: string, fits: (node: string) => boolean) =>
      untilRead(
        () => planes.holder('notifications', observer),
        (node) => node !== null && fits(node),
        'a holder',
      ) as Promise<string>
    const other = (...than: string[]) => names.find((name) => !than.includes(name)) as string

    /** An alert that fires, made through one of them; resolves to the webhooks of its firing. */
    async function fires(name: string, through: string): Promise<unknown[]> {
      // 60 s at this clock scale: a machine that is away for a moment is not NoData, which would end the episode.
      const rule = { metric: 'memory_usage', operator: 'gt', threshold: 1, duration: '1m', queryRange: '1h' }
      const input = { appEnvId, name, ...rule, contactPointIds: [contactPointId] }
      const { alert } = await planes
        .at(through)
        .client()
        .call(createAlert, input as never)
      alertIds.push(alert.alertId)
      const firing = () =>
        receiver.accepted.filter(({ body }) => body.event === 'firing' && body.alertId === alert.alertId)
      await untilRead(
        async () => firing(),
        (all) => all.length > 0,
        `the alert ${name}`,
      )
      return firing()
    }

    it('delivers an alert once, on whichever of them the work is', async () => {
      for (const through of names) await fires(`through ${through}`, through)
      // Each of them looks for notifications every second; a second delivery would come with the next look.
      await fires('after them', 'cedar')
      const ids = receiver.accepted.map(({ body }) => `${body.alertId} ${body.event}`)
      expect(ids).toHaveLength(new Set(ids).size)
      expect(ids).toHaveLength(4)
    })

    it('kill -9 of a holder: another one takes its work over, and the killed one comes back', async () => {
      const killed = await holder('alder', () => true)
      const observer = other(killed)
      await planes.at(killed).end('SIGKILL')
      await holder(observer, (node) => node !== killed)
      const [lease] = await server.query(
        planes.database,
        `select l.since_ms - i.seen_ms as took_ms from leases l, instances i
       where l.name = 'notifications' and i.node = '${killed}'`,
      )
      expect(Number(lease?.took_ms)).toBeGreaterThan(0)
      console.log(`took over ${lease?.took_ms} ms after the last sign of life`)
      await planes.at(killed).start()
      expect((await planes.instances(killed)).map(({ node }) => node)).toEqual(names)
      await fires('after a kill', observer)
    })

    it('SIGSTOP and SIGCONT of a holder: its work goes on elsewhere, and it harms nothing when it wakes', async () => {
      const paused = await holder('birch', () => true)
      const observer = other(paused)
      planes.at(paused).signal('SIGSTOP')
      const next = await holder(observer, (node) => node !== paused)
      // Its open transactions are ended, so they block nothing.
      const sessions = () =>
        server.query(
          planes.database,
          `select count(*)::int as n from pg_stat_activity a, instances i
         where i.node = '${paused}' and a.application_name = 'longshore ' || i.instance_id`,
        )
      await untilRead(sessions, ([row]) => row?.n === 0, 'the end of its sessions')
      const { ready, token } = planes.at(observer)
      const shown = await fetch(new URL('/readyz', ready.api), { headers: { authorization: token } })
      const { instances } = (await shown.json()) as {
        instances: { node: string; isAlive: boolean; lagMs: number }[]
      }
      const seen = instances.find(({ node }) => node === paused)
      expect(seen).toMatchObject({ isAlive: false })
      expect(seen?.lagMs).toBeGreaterThan(6_000)
      planes.at(paused).signal('SIGCONT')
      await untilRead(
        () => planes.instances(paused),
        (all) => all.length === names.length,
        'its answer',
      )
      await untilRead(sessions, ([row]) => Number(row?.n) > 0, 'its new sessions')
      expect(next).not.toBe(paused)
      const firing = await fires('after a pause', paused)
      await fires('later', observer)
      expect(firing).toHaveLength(1)
      expect(planes.at(paused).stderr).toContain('no longer holds the lease')
    })

    it('a machine that is away is named; its environments can still be read and changed', async () => {
      await planes.at('alder').end('SIGKILL')
      const client = planes.at('birch').client()
      const region = async () => (await client.call(listRegions, {})).regions[0]
      const away = { region: 'north', available: false, unavailableReason: 'The machine alder is away' }
      expect(await untilRead(region, (found) => found?.available === false, 'its absence')).toMatchObject(
        away,
      )
      await expect(client.call(getLogs, { appEnvId })).rejects.toMatchObject({
        kind: 'unavailable',
        message: 'The machine alder is away',
      })
      const alert = () => client.call(getAlert, { alertId: alertIds[0] as string })
      await untilRead(
        alert,
        ({ lastKnownState }) => lastKnownState === 'Error',
        'an alert that cannot be read',
      )
      const { findings } = await client.call(diagnoseAppEnv, { appEnvId })
      expect(findings[0]).toMatchObject({ cause: 'engine-away' })
      await client.call(updateAppEnv, { appEnvId, zClouds: 2 })
      expect((await client.call(getAppEnv, { appEnvId })).zClouds).toBe(2)
      await planes.at('alder').start()
      await untilRead(
        () => client.call(getLogs, { appEnvId }),
        ({ logs }) => logs.length > 0,
        'its logs',
      )
    })
  },
)
