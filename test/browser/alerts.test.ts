import { setTimeout as pause } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createAlert, getAlert, listAlerts } from '../../src/contract/alerts.ts'
import { getAppEnv } from '../../src/contract/app-envs.ts'
import { createContactPoint } from '../../src/contract/contact-points.ts'
import { Receiver } from '../../testkit/alerting/receiver.ts'
import { ConsoleFixture, noBrowser } from '../../testkit/console/fixture.ts'
import { inspectPages } from '../../testkit/console/inspect.ts'
import { FakeMetrics } from '../../testkit/fakes/metrics.ts'

/** Ten minutes of a query range pass in 5 s, and the evaluator looks every 250 ms. */
const clockScale = 120
const periodMs = 250
const publicUrl = 'https://longshore.test'

describe.skipIf(noBrowser !== null)(
  `alerts of the console in a browser${noBrowser ? ` (skipped: ${noBrowser})` : ''}`,
  { timeout: 180_000 },
  () => {
    const metrics = new FakeMetrics(periodMs)
    let fixture: ConsoleFixture
    let receiver: Receiver
    let appEnvId = ''
    let envName = ''
    const { add } = { add: metrics.add.bind(metrics) }
    /** One value every 10 s of the last hour. */
    const measuredUntilNow = (value: (secondsAgo: number) => number) => {
      for (let seconds = 3_600; seconds >= 0; seconds -= 10)
        add(appEnvId, 'cpu_percent', Date.now() - seconds * 1_000, value(seconds))
    }
    beforeAll(async () => {
      receiver = await Receiver.start()
      const alerting = { metrics, clockScale, alerts: true, publicUrl }
      fixture = await ConsoleFixture.start({ reconciles: false, ...alerting })
      ;({ appEnvId } = await fixture.platform.makeEnvironment({ app: { name: 'shop', useImage: true } }))
      envName = (await fixture.platform.admin.client.call(getAppEnv, { appEnvId })).cliEnvName
      measuredUntilNow((seconds) => 45 + 15 * Math.sin(seconds / 200))
    })
    afterAll(async () => {
      await receiver?.close()
      await fixture?.close()
    })
    afterEach(async () => expect(await fixture.endTest()).toEqual([]))

    const alerts = async () => (await fixture.platform.admin.client.call(listAlerts, { appEnvId })).alerts
    const slider = (page: Page) => page.getByRole('slider', { name: 'Threshold on the chart' })

    it('creates a contact point, shows errors at their input, and tests it', async () => {
      const page = await fixture.signedIn('/alerts')
      await page.getByText('No alerts yet').waitFor()
      await page.getByRole('main').getByRole('link', { name: 'Contact points' }).click()
      await page.getByText('No contact points yet').waitFor()
      await page.getByRole('button', { name: 'New contact point' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name', { exact: true }).fill('On call')
      await dialog.getByLabel('Address').fill('ftp://example.com')
      await dialog.getByRole('button', { name: 'Create contact point' }).click()
      await dialog.getByRole('alert').waitFor()
      expect(await dialog.getByLabel('Address').getAttribute('aria-invalid')).toBe('true')
      await dialog.getByLabel('Address').fill(receiver.url())
      await dialog.getByRole('button', { name: 'Create contact point' }).click()
      await page.getByRole('row', { name: /On call Webhook/ }).waitFor()
      expect(await page.content()).not.toContain(receiver.url())
      await page.getByRole('button', { name: 'Send test to On call' }).click()
      await page.getByText('Delivered', { exact: true }).waitFor()
      const { event, url } = receiver.accepted[0]?.body ?? {}
      expect(event).toBe('test')
      await page.goto(url.replace(publicUrl, fixture.platform.apiUrl))
      await page.getByRole('heading', { name: 'Contact points' }).waitFor()
      receiver.answer = () => ({ status: 500 })
      await page.getByRole('button', { name: 'Send test to On call' }).click()
      await page.getByText('Not delivered').waitFor()
      receiver.answer = () => ({ status: 200 })
    })

    it('creates an alert by dragging the threshold over stored data, and by keyboard alone', async () => {
      const page = await fixture.signedIn(`/environments/${envName}/alerts`)
      await page.getByRole('link', { name: 'New alert' }).click()
      await page.getByLabel('Name', { exact: true }).fill('Busy')
      await page.getByLabel('Metric').selectOption('cpu_percent')
      await page.getByLabel('Must hold for').selectOption('1m')
      await page.getByRole('checkbox', { name: /On call/ }).check()
      await page.getByText('Would not have fired in the last 7 days.').waitFor()
      const handle = await slider(page).boundingBox()
      if (!handle) throw new Error('no handle')
      const [x, y] = [handle.x + handle.width / 2, handle.y + handle.height / 2]
      const dryRuns: string[] = []
      page.on('request', (request) => {
        if (request.method() === 'POST' && request.url().endsWith('/app-env/alert'))
          dryRuns.push(request.url())
      })
      await page.mouse.move(x, y)
      await page.mouse.down()
      await page.mouse.move(x, y + 150, { steps: 40 })
      await page.mouse.up()
      const dragged = Number(await page.getByLabel(/^Threshold \(/).inputValue())
      expect(dragged).toBeLessThan(40)
      expect(await slider(page).getAttribute('aria-valuenow')).toBe(String(dragged))
      await page.getByText(/Would have fired \d+ times? in the last 7 days/).waitFor()
      // 40 moves of the pointer, and one preview after the last.
      expect(dryRuns.length).toBeLessThan(10)
      expect(await alerts()).toEqual([])

      await slider(page).focus()
      await page.keyboard.press('End')
      const top = await slider(page).getAttribute('aria-valuemax')
      expect(await page.getByLabel(/^Threshold \(/).inputValue()).toBe(top)
      await page.keyboard.press('ArrowDown')
      await expect.poll(() => page.getByLabel(/^Threshold \(/).inputValue()).not.toBe(top)
      await page.getByText('Would not have fired in the last 7 days.').waitFor()
      await page.getByLabel(/^Threshold \(/).fill('70')
      expect(await slider(page).getAttribute('aria-valuenow')).toBe('70')
      await page.getByRole('button', { name: 'Create alert' }).click()
      await page.getByRole('heading', { name: 'Busy' }).waitFor()
      expect((await alerts()).map(({ name, threshold }) => [name, threshold])).toEqual([['Busy', 70]])
    })

    it('shows an alert fire, live, and opens it from the address in the notification', async () => {
      const page = await fixture.signedIn('/alerts')
      await page.getByRole('row', { name: /Busy/ }).waitFor()
      for (let ms = 0; ms < 40_000; ms += periodMs) add(appEnvId, 'cpu_percent', Date.now() + ms, 95)
      await page.getByRole('row', { name: /Busy Firing/ }).waitFor()
      const delivered = page.getByRole('region', { name: 'Notifications' })
      await delivered.getByRole('row', { name: /Busy On call Delivered/ }).waitFor()
      const isFiring = ({ body }: { body: { event: string } }) => body.event === 'firing'
      await expect.poll(() => receiver.accepted.filter(isFiring).length).toBe(1)
      const { url } = receiver.accepted.find(isFiring)!.body
      await page.goto(url.replace(publicUrl, fixture.platform.apiUrl))
      await page.getByRole('heading', { name: 'Busy' }).waitFor()
      await page.getByRole('img', { name: /States: .*Firing/ }).waitFor()
      await page.getByRole('row', { name: /On call Delivered/ }).waitFor()
      await page.getByRole('row', { name: /Firing after Pending/ }).waitFor()
    })

    it('edits an alert with a conflicting change, and pauses and resumes it', async () => {
      const [busy] = await alerts()
      const page = await fixture.signedIn(`/environments/${envName}/alerts/${busy!.alertId}`)
      await page.getByRole('link', { name: 'Edit' }).click()
      await page.getByLabel('Name', { exact: true }).fill('Very busy')
      await fixture.platform.request('PATCH', '/alert', {
        token: fixture.platform.admin.token,
        input: { alertId: busy!.alertId, description: 'theirs' },
      })
      // The page learns of the change after the platform has refused.
      await page.route('**/alert?*', async (route) => {
        if (route.request().method() === 'GET') await pause(1_000)
        await route.continue()
      })
      await page.getByRole('button', { name: 'Save alert' }).click()
      await page.getByText('Revision conflict').waitFor()
      expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Very busy')
      await page.getByRole('button', { name: 'Save mine' }).click()
      await page.getByRole('heading', { name: 'Very busy' }).waitFor()
      await page.getByRole('button', { name: 'Pause' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click()
      await page.getByText('Paused', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Resume' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click()
      await page.getByRole('button', { name: 'Pause' }).waitFor()
    })

    it('shows members no buttons that they may not use', async () => {
      const [busy] = await alerts()
      const { accountId } = fixture.platform
      const member = await fixture.platform.makeUser({ accountId })
      const page = await fixture.signedIn(`/environments/${envName}/alerts/${busy!.alertId}`, {
        token: member.token,
      })
      await page.getByRole('heading', { name: 'Very busy' }).waitFor()
      await page.getByText('State changes').waitFor()
      expect(await page.getByRole('button', { name: /Pause|Resume|Delete/ }).count()).toBe(0)
      await page.goto(fixture.address('/contact-points'))
      await page.getByRole('row', { name: /On call/ }).waitFor()
      expect(await page.getByRole('button', { name: /New|Test|Delete/ }).count()).toBe(0)
    })

    it('is clean for axe in both themes, and fits 320 to 2,560 pixels', async () => {
      const [busy] = await alerts()
      const pages = [
        '/alerts',
        '/contact-points',
        ...['', '/new', `/${busy!.alertId}`, `/${busy!.alertId}/edit`, '/alr_none'].map(
          (tail) => `/environments/${envName}/alerts${tail}`,
        ),
      ]
      const page = await fixture.signedIn('/')
      expect(await inspectPages(page, pages)).toEqual([])
    })

    it('X2: explains why a contact point in use cannot be deleted, and deletes it after its alert', async () => {
      const { client } = fixture.platform.admin
      const [busy] = await alerts()
      const page = await fixture.signedIn('/contact-points')
      await page.getByRole('button', { name: 'Delete On call' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('Contact point in use').waitFor()
      await dialog
        .getByText('1 alert(s) are using this contact point. Delete or update them first.')
        .waitFor()
      expect(await dialog.getByRole('button', { name: 'Delete contact point' }).isDisabled()).toBe(true)
      await page.goto(fixture.address(`/environments/${envName}/alerts/${busy!.alertId}`))
      await page.getByRole('button', { name: 'Delete' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete alert' }).click()
      await page.waitForURL(fixture.address(`/environments/${envName}/alerts`))
      await expect(client.call(getAlert, { alertId: busy!.alertId })).rejects.toMatchObject({
        kind: 'not-found',
      })
      await page.goto(fixture.address('/contact-points'))
      await page.getByRole('button', { name: 'Delete On call' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete contact point' }).click()
      await page.getByText('No contact points yet').waitFor()
    })

    it('lists alerts of all environments, firing first', async () => {
      const { client } = fixture.platform.admin
      const { accountId } = fixture.platform
      const other = await fixture.platform.makeEnvironment()
      const rule = {
        metric: 'ingress_5xx_rate',
        operator: 'gt',
        duration: '1m',
        contactPointIds: [],
      } as const
      await client.call(createContactPoint, {
        accountId,
        name: 'Mail',
        type: 'email',
        config: { addresses: ['ops@example.com'] },
      })
      await client.call(createAlert, { appEnvId, name: 'A calm', threshold: 5, ...rule })
      const loud = await client.call(createAlert, {
        appEnvId: other.appEnvId,
        name: 'Z loud',
        threshold: 5,
        ...rule,
      })
      for (let ms = 0; ms < 40_000; ms += periodMs)
        for (const [env, value] of [
          [other.appEnvId, 9],
          [appEnvId, 1],
        ] as const)
          add(env, 'ingress_5xx_rate', Date.now() + ms, value)
      const page = await fixture.signedIn('/alerts')
      const names = () => page.locator('tbody th').allTextContents()
      await page.getByRole('row', { name: /Z loud Firing/ }).waitFor()
      await expect.poll(names).toEqual(['Z loud', 'A calm'])
      expect((await client.call(getAlert, { alertId: loud.alert.alertId })).lastKnownState).toBe('Firing')
      await page.getByLabel('State').selectOption('Normal')
      await page.waitForURL(/state=Normal/)
      await expect.poll(names).toEqual(['A calm'])
    })

    it('says on the overview what fires and what was billed today, and leads there', async () => {
      const { accountId } = fixture.platform
      const listed = await fixture.platform.admin.client.call(listAlerts, { accountId })
      const loud = listed.alerts.find(({ name }) => name === 'Z loud')!
      for (let ms = 0; ms < 60_000; ms += periodMs) add(loud.appEnvId, 'ingress_5xx_rate', Date.now() + ms, 9)
      const page = await fixture.signedIn('/')
      const glance = page.getByRole('region', { name: 'At a glance' })
      await glance.getByText('of 2 alerts').waitFor()
      const worst = glance.getByRole('list', { name: 'Environments that need attention' })
      await worst.getByRole('listitem').filter({ hasText: '1 alert firing' }).waitFor({ timeout: 30_000 })
      await glance.getByText('zCloud h').waitFor()
      await glance.getByRole('link', { name: '1', exact: true }).click()
      await page.waitForURL(/alerts.*state=Firing/)
      await page.getByRole('row', { name: /Z loud Firing/ }).waitFor()
    })

    it('reads every alert of an account in one call, a hundred at a time', async () => {
      const { client } = fixture.platform.admin
      const rule = { metric: 'cpu_percent', operator: 'gt', duration: '1h', contactPointIds: [] } as const
      for (let index = 0; index < 100; index++)
        await client.call(createAlert, { appEnvId, name: `Spare ${index}`, threshold: 99, ...rule })
      const page = await fixture.signedIn('/')
      const reads: string[] = []
      page.on('request', (request) => {
        if (request.url().includes('/app-env/alerts')) reads.push(new URL(request.url()).search)
      })
      await page.goto(fixture.address('/alerts'))
      await page.getByText('102 entries').waitFor()
      expect(await page.locator('tbody th').count()).toBe(100)
      await page.getByRole('button', { name: 'Older' }).click()
      await page.getByRole('row', { name: /Spare 99/ }).waitFor()
      expect(await page.locator('tbody th').count()).toBe(2)
      expect(reads.filter((search) => !search.includes('accountId='))).toEqual([])
    })
  },
)
