import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createAlert } from '../../src/contract/alerts.ts'
import { stopAppEnv } from '../../src/contract/app-env-actions.ts'
import { getAppEnvStatus } from '../../src/contract/app-env-reads.ts'
import { deployAppEnvImage } from '../../src/contract/deployments.ts'
import { insertRun } from '../../src/store/repositories/usage.ts'
import { ConsoleFixture, noBrowser } from '../../testkit/console/fixture.ts'
import { axeInBothThemes } from '../../testkit/console/inspect.ts'
import type { TestUser } from '../../testkit/platform/test-platform.ts'
import { untilRead } from '../../testkit/until.ts'

const image = (tag: number) => `registry.example.com/app:${tag}`

describe.skipIf(noBrowser !== null)(
  `what an operator looks into${noBrowser ? ` (skipped: ${noBrowser})` : ''}`,
  { timeout: 180_000 },
  () => {
    let fixture: ConsoleFixture
    let appEnvId = ''
    let member: TestUser
    beforeAll(async () => {
      fixture = await ConsoleFixture.start()
      const environment = { cliEnvName: 'shop-prod' }
      ;({ appEnvId } = await fixture.platform.makeEnvironment({
        app: { name: 'shop', useImage: true },
        environment,
      }))
      member = await fixture.platform.makeUser()
    })
    afterAll(() => fixture?.close())
    afterEach(async () => expect(await fixture.endTest()).toEqual([]))

    it('sees what one agent session did and was refused, and what one token did', async () => {
      const { accountId } = fixture.platform
      const headers = { 'longshore-surface': 'mcp', 'longshore-session': 'ses_test_agent1' }
      const agent = (method: string, path: string, input: object) =>
        fixture.platform.request(method, path, { token: member.token, input: { ...input }, headers })
      expect((await agent('PATCH', '/app-env/containers', { appEnvId, containers: 2 })).status).toBe(200)
      expect((await agent('PATCH', '/account', { accountId, name: 'Mine' })).status).toBe(403)
      const page = await fixture.signedIn('/activity')
      await page.getByRole('link', { name: 'session agent1' }).first().click()
      await page.waitForURL(fixture.address('/sessions/ses_test_agent1'))
      await page.getByRole('heading', { name: 'Session agent1' }).waitFor()
      const totals = page.getByRole('region', { name: 'Totals' })
      await totals.getByRole('row', { name: 'Scale containers 1 0' }).waitFor()
      await totals.getByRole('row', { name: 'Change account 0 1' }).waitFor()
      expect(await page.getByRole('listitem').filter({ hasText: 'Create app' }).count()).toBe(0)
      expect(await axeInBothThemes(page)).toEqual([])
      await page.setViewportSize({ width: 320, height: 800 })
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320)
      await page
        .getByRole('link', { name: /^token / })
        .first()
        .click()
      const sessions = page.getByRole('region', { name: 'List of agent sessions' })
      await sessions.getByRole('link', { name: 'agent1' }).waitFor()
      expect(await page.getByRole('listitem').filter({ hasText: 'Create app' }).count()).toBe(0)
      await page.goto(fixture.address('/tokens'))
      await page.getByRole('link', { name: 'First token' }).click()
      await page.getByRole('listitem').filter({ hasText: 'Create app' }).first().waitFor()
      await page.goto(fixture.address('/sessions/ses_unknown'))
      await page.getByText('No entries in this account').waitFor()
    })

    it('says on the overview what cannot be read, in place of loading for ever', async () => {
      const page = await fixture.signedIn('/activity')
      const failure = JSON.stringify({ error: 'The store is busy', details: 'Try again.' })
      for (const path of ['**/metrics-series*', '**/account/health*', '**/account/usage*'])
        await page.route(path, (route) => route.fulfill({ status: 400, body: failure }))
      await page.goto(fixture.address('/'))
      const glance = page.getByLabel('At a glance')
      await expect.poll(() => glance.getByText('Cannot be read').count()).toBe(2)
      await page.getByRole('table').getByText('Cannot be read').first().waitFor()
    })

    it('reads the cause with its evidence, and runs the safe fix after confirmation', async () => {
      const { client } = fixture.platform.admin
      const status = () => client.call(getAppEnvStatus, { appEnvId })
      await client.call(deployAppEnvImage, { appEnvId, image: image(1) })
      await untilRead(status, (one) => one.currentVersion === 1, 'version 1')
      await client.call(stopAppEnv, { appEnvId })
      await untilRead(status, (one) => one.containers.running === 0, 'no container')
      fixture.platform.engine.faults.failStarts = {
        times: 1,
        reason: 'exited',
        message: 'It printed: no such module.',
      }
      await client.call(deployAppEnvImage, { appEnvId, image: image(2) })
      await untilRead(status, (one) => one.currentDeployment?.status === 'FAILED', 'a failed version 2')
      const page = await fixture.signedIn('/environments/shop-prod')
      const findings = page.getByRole('region', { name: 'Findings' })
      await findings.getByText('It printed: no such module.').waitFor()
      await findings.getByText('Deploys version 1, which served before.').waitFor()
      expect(await axeInBothThemes(page)).toEqual([])
      await findings.getByRole('button', { name: 'Deploy version again' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('listitem').first().waitFor()
      await dialog.getByRole('button', { name: 'Deploy version again' }).click()
      await dialog.waitFor({ state: 'detached' })
      await page.getByText('Version 1 is serving').waitFor()
      await findings.waitFor({ state: 'detached' })
    })

    it('sees containers over time, and for functions scale-ups and cold starts', async () => {
      const { accountId } = fixture.platform
      const app = { dockerPreset: 'FUNCTION' } as const
      const made = await fixture.platform.makeEnvironment({ app, environment: { cliEnvName: 'scales' } })
      const startedMs = Date.now()
      await fixture.platform.db.write(async (tx) => {
        const of = { appEnvId: made.appEnvId, accountId, zClouds: 1, rateMultiplier: 3 }
        await insertRun(tx, { ...of, container: 'one', startedMs, finishedMs: startedMs + 30 })
        await insertRun(tx, {
          ...of,
          container: 'two',
          startedMs: startedMs + 10,
          finishedMs: startedMs + 20,
        })
      })
      const page = await fixture.signedIn('/environments/scales')
      await page.getByRole('img', { name: /^Containers\. Running: .*at most 2 containers/ }).waitFor()
      await page
        .getByRole('img', { name: /Scale-ups: .*at most 1 start\b.*Cold starts: .*at most 1\b/ })
        .waitFor()
      // The exact time and each value with its unit, where the pointer is.
      await page.getByRole('img', { name: /^Containers\. Running/ }).hover()
      await page.getByText(/\d{4}.*\s(Running|Should run|Ready): \d+ containers?/).waitFor()
    })

    it('goes through all notifications of an alert', async () => {
      const { client } = fixture.platform.admin
      const rule = {
        name: 'CPU',
        metric: 'cpu_percent',
        operator: 'gt',
        threshold: 80,
        duration: '1m',
      } as const
      const { alert } = await client.call(createAlert, { appEnvId, ...rule, contactPointIds: [] })
      await fixture.platform.db.write(async (tx) => {
        for (let number = 0; number < 25; number += 1) {
          const at = new Date(Date.now() - number * 60_000).toISOString()
          const names = { notification_id: `ntc_${number}`, event_id: `evt_${number}`, dedup_key: 'key' }
          const of = { alert_id: alert.alertId, app_env_id: appEnvId, account_id: fixture.platform.accountId }
          const sent = { attempts: 1, spent_ms: 0, next_at_ms: 0, last_at: at, created_at: at, body: '{}' }
          const failed = number === 24
          const end = {
            status: failed ? 'dead' : 'delivered',
            reason: failed ? 'answered 500' : null,
          } as const
          const row = {
            ...names,
            ...of,
            ...sent,
            ...end,
            contact_point_id: 'cp_1',
            event: 'firing',
            ordinal: number,
          }
          await tx.insertInto('notifications').values(row).execute()
        }
      })
      const page = await fixture.signedIn(`/environments/shop-prod/alerts/${alert.alertId}`)
      const region = page.getByRole('region', { name: 'Notifications', exact: true })
      await region.getByText('25 entries').waitFor()
      expect(await region.getByText('answered 500').count()).toBe(0)
      await region.getByRole('button', { name: 'Older' }).click()
      await region.getByText('answered 500').waitFor()
      expect(await region.getByText('Delivered').count()).toBe(4)
    })
  },
)
