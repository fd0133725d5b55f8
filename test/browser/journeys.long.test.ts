import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { updateAppEnvVariables } from '../../src/contract/app-env-actions.ts'
import { getAppEnv } from '../../src/contract/app-envs.ts'
import { deployAppEnvImage } from '../../src/contract/deployments.ts'
import { ConsoleFixture, noBrowser } from '../../testkit/console/fixture.ts'
import { inspectPages } from '../../testkit/console/inspect.ts'

const image = (tag: number) => `registry.example.com/app:${tag}`

describe.skipIf(noBrowser !== null)(
  `the console in a browser: what people do${noBrowser ? ` (skipped: ${noBrowser})` : ''}`,
  { timeout: 180_000 },
  () => {
    let fixture: ConsoleFixture
    let appEnvId = ''
    let envName = ''
    const read = () => fixture.platform.admin.client.call(getAppEnv, { appEnvId })
    beforeAll(async () => {
      fixture = await ConsoleFixture.start()
      ;({ appEnvId } = await fixture.platform.makeEnvironment({ app: { name: 'shop', useImage: true } }))
      envName = (await read()).cliEnvName
    })
    afterAll(() => fixture?.close())
    afterEach(async () => expect(await fixture.endTest()).toEqual([]))

    it('sees a deployment of an agent arrive, live, and rolls it back', async () => {
      const { client } = fixture.platform.admin
      const page = await fixture.signedIn(`/environments/${envName}`)
      await page.getByText('Nothing is deployed yet.').waitFor()
      await client.call(deployAppEnvImage, { appEnvId, image: image(1) })
      await page.getByText('Version 1 is serving: 1 of 1 container ready.').waitFor()
      await client.call(deployAppEnvImage, { appEnvId, image: image(2) })
      await page.getByText('Version 2 is serving').waitFor()
      await page.getByRole('link', { name: 'Deployments' }).click()
      await page.getByRole('button', { name: 'Roll back' }).first().click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('listitem').first().waitFor()
      await dialog.getByRole('button', { name: 'Deploy version 1' }).click()
      await dialog.waitFor({ state: 'hidden' })
      await page.getByRole('row', { name: /Redeploy.*1 \(current\).*deployed/ }).waitFor()
      expect((await read()).currentVersion).toBe(1)
    })

    it('says in the list that an environment failed whose only version did, and why', async () => {
      const { client } = fixture.platform.admin
      const failed = await fixture.platform.makeEnvironment({ app: { name: 'broken', useImage: true } })
      const message = 'The container was lost. get-logs shows its output.'
      fixture.platform.engine.faults.failStarts = { times: 1, reason: 'exited', message }
      await client.call(deployAppEnvImage, { appEnvId: failed.appEnvId, image: image(1) })
      const page = await fixture.signedIn('/')
      const row = page.getByRole('row', { name: /broken/ })
      await row.getByText('Failed', { exact: true }).waitFor()
      expect(await row.getByTitle(/Exited: /).getAttribute('title')).toBe(
        'Exited: The container was lost. The Logs tab shows its output.',
      )
      await row.getByRole('link').click()
      await page.getByText('The Logs tab shows its output.').first().waitFor()
    })

    it('adds a variable without seeing others, applies it, and undoes it from the activity', async () => {
      const { client } = fixture.platform.admin
      await client.call(updateAppEnvVariables, { appEnvId, set: [{ name: 'KEY', value: 'hidden-value' }] })
      const page = await fixture.signedIn(`/environments/${envName}/variables`)
      await page.getByRole('row', { name: /KEY secret/ }).waitFor()
      expect(await page.content()).not.toContain('hidden-value')
      await page.getByRole('button', { name: 'Add variable' }).click()
      await page.getByLabel('Name').fill('9 lives')
      await page.getByLabel('Value').fill('fast')
      await page.getByLabel(/Secret/).uncheck()
      await page.getByRole('button', { name: 'Save as pending' }).click()
      // The platform's message is shown at the field, and the typed text stays.
      await page.getByRole('alert').waitFor()
      expect(await page.getByLabel('Name').getAttribute('aria-invalid')).toBe('true')
      expect(await page.getByLabel('Value').inputValue()).toBe('fast')
      await page.getByLabel('Name').fill('MODE')
      await page.getByRole('button', { name: 'Save as pending' }).click()
      await page.getByRole('row', { name: /MODE fast/ }).waitFor()
      await page.getByRole('button', { name: 'Review and apply' }).click()
      await page.getByRole('button', { name: 'Apply', exact: true }).click()
      await page.getByRole('region', { name: 'Pending changes' }).waitFor({ state: 'detached' })
      expect((await read()).envVars.map(({ name }) => name)).toEqual(['KEY', 'MODE'])

      await page.getByRole('link', { name: 'Activity' }).first().click()
      const change = page.getByRole('listitem').filter({ hasText: 'Change variables' }).first()
      await change.getByText('Console').waitFor()
      await change.getByRole('button', { name: 'Undo' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Undo' }).click()
      await page.getByRole('listitem').filter({ hasText: 'Undo: Change variables' }).first().waitFor()
      expect((await read()).envVars.map(({ name }) => name)).toEqual(['KEY'])
    })

    it('filters the activity by an address that can be shared', async () => {
      const page = await fixture.signedIn('/activity')
      await page.getByLabel('From where').selectOption('console')
      await page.waitForURL(/surface=console/)
      await page.getByLabel('Operation').fill('undo')
      await page.waitForURL(/operation=undo/)
      const other = await fixture.signedIn()
      await other.goto(page.url())
      await other.getByRole('listitem').filter({ hasText: 'Undo: Change variables' }).waitFor()
      expect(await other.getByRole('listitem').filter({ hasText: 'Command line' }).count()).toBe(0)
      await page.goto(fixture.address('/activity'))
      const others = page.getByRole('listitem').filter({ hasText: 'Create app' })
      await others.first().waitFor()
      await page.getByLabel('Object').selectOption({ label: envName })
      await page.waitForURL(/object=env_/)
      await others.first().waitFor({ state: 'detached' })
      expect(new Set(await page.locator('li.entry > span a').allTextContents())).toEqual(new Set([envName]))
    })

    it('shows a lost connection, reconnects automatically, and keeps typed text', async () => {
      const page = await fixture.signedIn(`/environments/${envName}/settings`)
      await page.getByLabel('Name', { exact: true }).last().fill('typed before')
      await page.context().setOffline(true)
      await page.getByText('Connection lost.').waitFor()
      await page.context().setOffline(false)
      await page.getByText('Connection lost.').waitFor({ state: 'detached' })
      expect(await page.getByLabel('Name', { exact: true }).last().inputValue()).toBe('typed before')
      fixture.complaints.length = 0
    })

    it('shows both values after a conflict of revisions and lets the person choose', async () => {
      const page = await fixture.signedIn(`/environments/${envName}/scaling`)
      const field = page.getByLabel('Containers', { exact: true }).getByRole('spinbutton')
      await field.fill('2')
      await fixture.platform.request('PATCH', '/app-env/containers', {
        token: fixture.platform.admin.token,
        input: { appEnvId, containers: 3 },
      })
      await page.getByRole('button', { name: 'Scale now' }).click()
      await page.getByText('Revision conflict').waitFor()
      await page.getByRole('row', { name: 'Containers 2 3' }).waitFor()
      expect(await field.inputValue()).toBe('2')
      await page.getByRole('button', { name: 'Save mine' }).click()
      await expect.poll(async () => (await read()).containers).toBe(2)
    })

    it('is clean for axe in both themes, and fits 320 to 2,560 pixels', async () => {
      const tabs = [
        '',
        '/deployments',
        '/versions',
        '/logs',
        '/variables',
        '/scaling',
        '/activity',
        '/settings',
      ]
      const pages = [
        '/activity',
        '/',
        '/agents',
        `/agents/${fixture.platform.admin.userId}?surface=cli`,
        '/members',
        '/tokens',
        '/settings',
        '/system',
        '/start',
        ...tabs.map((tab) => `/environments/${envName}${tab}`),
        '/environments/none',
      ]
      const page = await fixture.signedIn('/')
      expect(await inspectPages(page, pages)).toEqual([])
    })

    it('deletes an environment by keyboard alone, after its name was typed', async () => {
      const page = await fixture.signedIn(`/environments/${envName}/settings`)
      await page.getByRole('button', { name: 'Delete environment' }).focus()
      await page.keyboard.press('Enter')
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('listitem').first().waitFor()
      expect(await dialog.getByRole('button', { name: 'Delete environment' }).isDisabled()).toBe(true)
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      await expect
        .poll(() => page.evaluate(() => document.activeElement?.textContent))
        .toBe('Delete environment')
      await page.keyboard.press('Enter')
      await dialog.getByRole('textbox').focus()
      await page.keyboard.type(envName)
      // Enter does nothing before the effects are counted.
      await expect
        .poll(() => dialog.getByRole('button', { name: 'Delete environment' }).isEnabled())
        .toBe(true)
      await page.keyboard.press('Enter')
      await page.waitForURL(fixture.address('/'))
      await expect(read()).rejects.toMatchObject({ kind: 'not-found' })
    })
  },
)
