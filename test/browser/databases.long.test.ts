import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { getAppEnvStatus } from '../../src/contract/app-env-reads.ts'
import { getAppEnv } from '../../src/contract/app-envs.ts'
import { ConsoleFixture, noBrowser } from '../../testkit/console/fixture.ts'
import { axe, inspectPages } from '../../testkit/console/inspect.ts'
import { until } from '../../testkit/engines/suite-installation.ts'
import { FakeEngine } from '../../testkit/fakes/engine.ts'

describe.skipIf(noBrowser !== null)(
  `databases of the console in a browser${noBrowser ? ` (skipped: ${noBrowser})` : ''}`,
  { timeout: 180_000 },
  () => {
    const engine = new FakeEngine()
    let fixture: ConsoleFixture
    let appEnvId = ''
    let envName = ''
    let password = ''
    beforeAll(async () => {
      fixture = await ConsoleFixture.start({ engine })
      const environment = { containers: 2, cliEnvName: 'orders-data' }
      ;({ appEnvId } = await fixture.platform.makeEnvironment({
        app: { dockerPreset: 'POSTGRESQL' },
        environment,
      }))
      const { client } = fixture.platform.admin
      await until('the database runs', async () =>
        (await client.call(getAppEnvStatus, { appEnvId })).status === 'RUNNING' ? true : null,
      )
      engine.host.databases.set(appEnvId, 'one, two')
      const { cliEnvName, hosts } = await client.call(getAppEnv, { appEnvId, decrypt: true })
      envName = cliEnvName
      password = new URL(hosts[0]!.url).password
    })
    afterAll(() => fixture?.close())
    afterEach(async () => expect(await fixture.endTest()).toEqual([]))

    it('A3: shows credentials to an admin who asks, and the audit log names who did', async () => {
      const page = await fixture.signedIn(`/environments/${envName}/database`)
      await page.getByRole('heading', { name: 'PostgreSQL' }).waitFor()
      await page
        .getByRole('row', { name: /\*\*\*SECRET\*\*\*.*Database protocol Reads and writes/ })
        .waitFor()
      await page.getByRole('row', { name: /Database protocol Replica 1, reads only/ }).waitFor()
      await page.getByText('2 of 2 containers ready').waitFor()
      expect(await page.content()).not.toContain(password)
      await page.getByRole('button', { name: 'Show credentials' }).focus()
      await page.keyboard.press('Enter')
      await page.getByText(password).first().waitFor()
      expect(await page.getByRole('button', { name: /^Copy/ }).count()).toBeGreaterThanOrEqual(2)
      expect(await axe(page)).toEqual([])
      const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))
      expect(kept).not.toContain(password)
      await page.getByRole('button', { name: 'Hide credentials' }).click()
      await page.getByText(password).first().waitFor({ state: 'detached' })
      // Leaving the page forgets them too.
      await page.getByRole('button', { name: 'Show credentials' }).click()
      await page.getByText(password).first().waitFor()
      await page.getByRole('link', { name: 'Backups' }).click()
      await page.getByRole('link', { name: 'Database', exact: true }).click()
      await page.getByRole('button', { name: 'Show credentials' }).waitFor()
      expect(await page.content()).not.toContain(password)
      await page
        .getByRole('navigation', { name: 'Environment' })
        .getByRole('link', { name: 'Activity' })
        .click()
      const read = page.getByRole('listitem').filter({ hasText: 'Read secrets of the environment' }).first()
      await read.getByText('Console').waitFor()
      expect(await read.getByRole('button', { name: /Undo/ }).count()).toBe(0)
    })

    it('A3: offers neither credentials nor restore nor delete to a member', async () => {
      const member = await fixture.platform.makeUser()
      const page = await fixture.signedIn(`/environments/${envName}/database`, { token: member.token })
      await page.getByText('Only admins of the account see the credentials.').waitFor()
      expect(await page.getByRole('button', { name: 'Show credentials' }).count()).toBe(0)
      await page.getByRole('link', { name: 'Backups' }).click()
      await page.getByRole('button', { name: 'Back up now' }).waitFor()
      expect(await page.getByRole('button', { name: /Restore|Delete/ }).count()).toBe(0)
    })

    it('takes a backup, restores it after its name was typed, and deletes it', async () => {
      const page = await fixture.signedIn(`/environments/${envName}/backups`)
      await page.getByText('No backups', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Back up now' }).click()
      await page.getByRole('row', { name: /succeeded/ }).waitFor()
      engine.host.databases.set(appEnvId, 'lost')
      await page.getByRole('button', { name: 'Restore' }).click()
      const dialog = page.getByRole('dialog')
      await dialog
        .getByRole('listitem')
        .filter({ hasText: `Replaces all data of ${envName}` })
        .waitFor()
      const confirm = dialog.getByRole('button', { name: 'Restore' })
      expect(await confirm.isDisabled()).toBe(true)
      expect(engine.host.databases.get(appEnvId)).toBe('lost')
      await dialog.getByRole('textbox').fill(envName)
      await confirm.click()
      await page
        .getByRole('region', { name: 'Restores' })
        .getByRole('row', { name: /succeeded/ })
        .waitFor()
      expect(engine.host.databases.get(appEnvId)).toBe('one, two')
      await page.getByRole('button', { name: 'Delete' }).click()
      await dialog.getByRole('listitem').first().waitFor()
      await dialog.getByRole('button', { name: 'Delete backup' }).click()
      await page.getByText('No backups', { exact: true }).waitFor()
    })

    it('says why a backup failed', async () => {
      engine.faults.failDumps = 'the server went away'
      const page = await fixture.signedIn(`/environments/${envName}/backups`)
      await page.getByRole('button', { name: 'Back up now' }).click()
      await page.getByRole('row', { name: /failed the server went away/ }).waitFor()
      engine.faults.failDumps = null
    })

    it('is clean for axe in both themes, and fits 320 to 2,560 pixels', async () => {
      const page = await fixture.signedIn('/')
      const pages = ['database', 'backups', 'scaling'].map((tab) => `/environments/${envName}/${tab}`)
      expect(await inspectPages(page, pages)).toEqual([])
    })

    it('says what is no database, and which databases have no backups', async () => {
      const app = await fixture.platform.makeEnvironment({ environment: { cliEnvName: 'web-app' } })
      expect(app.appEnvId).not.toBe('')
      const page = await fixture.signedIn('/environments/web-app/database')
      await page.getByText('Not a database').waitFor()
      expect(await page.getByRole('link', { name: 'Database', exact: true }).count()).toBe(0)
      await fixture.platform.makeEnvironment({
        app: { dockerPreset: 'MONGODB' },
        environment: { cliEnvName: 'mongo-data' },
      })
      await page.goto(fixture.address('/environments/mongo-data/backups'))
      await page.getByText('No backups for this database').waitFor()
    })
  },
)
