import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { listAccounts } from '../../src/contract/accounts.ts'
import { updateAppEnvVariables } from '../../src/contract/app-env-actions.ts'
import { getAppEnv, updateAppEnv } from '../../src/contract/app-envs.ts'
import { createContactPoint, getContactPoint, updateContactPoint } from '../../src/contract/contact-points.ts'
import { deployAppEnvImage } from '../../src/contract/deployments.ts'
import { addMember, removeMember } from '../../src/contract/members.ts'
import { ConsoleFixture, noBrowser } from '../../testkit/console/fixture.ts'
import { axe } from '../../testkit/console/inspect.ts'

describe.skipIf(noBrowser !== null)(
  `the console in a browser: changes and the way back${noBrowser ? ` (skipped: ${noBrowser})` : ''}`,
  { timeout: 180_000 },
  () => {
    let fixture: ConsoleFixture
    let appEnvId = ''
    const envName = 'shop-live'
    const call: typeof fixture.platform.admin.client.call = (...args) =>
      fixture.platform.admin.client.call(...args)
    const read = () => call(getAppEnv, { appEnvId })
    const deploy = async (version: number) => {
      await call(deployAppEnvImage, { appEnvId, image: `registry.example.com/shop:${version}` })
      await expect.poll(async () => (await read()).currentVersion).toBe(version)
    }
    beforeAll(async () => {
      fixture = await ConsoleFixture.start()
      ;({ appEnvId } = await fixture.platform.makeEnvironment({
        app: { name: 'shop', useImage: true },
        environment: { cliEnvName: envName },
      }))
    })
    afterAll(() => fixture?.close())
    afterEach(async () => expect(await fixture.endTest()).toEqual([]))

    it('3.3 shows pending changes as a difference, discards them, and applies others', async () => {
      await deploy(1)
      const set = [{ name: 'API_KEY', value: 'never-shown' }]
      await call(updateAppEnvVariables, { appEnvId, set })
      await call(updateAppEnv, { appEnvId, zClouds: 2 })
      const page = await fixture.signedIn(`/environments/${envName}`)
      const pending = page.getByRole('region', { name: 'Pending changes' })
      await pending.getByText('Show the changes').click()
      await pending
        .getByRole('row', { name: 'Size of a container 1 zCloud (0.5 CPU, 512 MB) 2 zClouds (1 CPU, 1 GB)' })
        .waitFor()
      await pending.getByRole('row', { name: 'Variable API_KEY none ***SECRET***' }).waitFor()
      expect(await axe(page)).toEqual([])
      await page.setViewportSize({ width: 320, height: 800 })
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320)
      await page.setViewportSize({ width: 1280, height: 800 })
      await pending.getByRole('button', { name: 'Discard' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('What runs stays as it is.').waitFor()
      await dialog
        .getByRole('row', { name: 'Size of a container 2 zClouds (1 CPU, 1 GB) 1 zCloud (0.5 CPU, 512 MB)' })
        .waitFor()
      expect(await page.content()).not.toContain('never-shown')
      await dialog.getByRole('button', { name: 'Discard changes' }).click()
      await pending.waitFor({ state: 'detached' })
      expect(await read()).toMatchObject({ zClouds: 1, envVars: [] })

      await call(updateAppEnv, { appEnvId, zClouds: 4 })
      await pending.getByRole('button', { name: 'Review and apply' }).click()
      await dialog
        .getByRole('row', { name: 'Size of a container 1 zCloud (0.5 CPU, 512 MB) 4 zClouds (2 CPU, 2 GB)' })
        .waitFor()
      await dialog.getByRole('button', { name: 'Apply', exact: true }).click()
      await pending.waitFor({ state: 'detached' })
    })

    it('compares two versions by an address of their own, and rolls back from there', async () => {
      const set = [{ name: 'MODE', value: 'value-of-mode', isSecret: false }]
      await call(updateAppEnvVariables, { appEnvId, set })
      await call(updateAppEnv, { appEnvId, zClouds: 2 })
      await deploy(2)
      const page = await fixture.signedIn(`/environments/${envName}/deployments`)
      await page.getByRole('link', { name: 'Compare version 1' }).first().click()
      await page.waitForURL(/versions\?from=2&to=1/)
      await page.getByRole('row', { name: /^Image .*shop:2 .*shop:1$/ }).waitFor()
      await page
        .getByRole('row', { name: 'Size of a container 2 zClouds (1 CPU, 1 GB) 4 zClouds (2 CPU, 2 GB)' })
        .waitFor()
      await page.getByText('MODE removed').waitFor()
      expect(await page.content()).not.toContain('value-of-mode')
      expect(await axe(page)).toEqual([])
      await page.setViewportSize({ width: 320, height: 800 })
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320)
      await page.setViewportSize({ width: 1280, height: 800 })
      await page.getByLabel('After').fill('7')
      await page.getByText('There is no version 7').waitFor()
      await page.getByLabel('After').fill('2')
      await page.getByText('No difference').waitFor()
      await page.getByLabel('After').fill('1')
      await page.getByRole('button', { name: 'Roll back to version 1' }).click()
      await page.getByRole('dialog').getByText('MODE').first().waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Deploy version 1' }).click()
      await expect.poll(async () => (await read()).currentVersion).toBe(1)
    })

    it('2.6 edits a contact point without showing its secrets, and offers both versions after a conflict', async () => {
      const { accountId } = fixture.platform
      const url = 'https://hooks.example.com/secret-path'
      const config = { url, username: 'longshore', password: 'hook-password' }
      const { contactPoint } = await call(createContactPoint, {
        accountId,
        name: 'Hook',
        type: 'webhook',
        config,
      })
      const { contactPointId } = contactPoint
      const stored = () => call(getContactPoint, { contactPointId, showSecrets: true })
      const page = await fixture.signedIn('/contact-points')
      const dialog = page.getByRole('dialog')
      await page.getByRole('button', { name: 'Edit Hook' }).click()
      await dialog.getByLabel('Name', { exact: true }).fill('Night hook')
      await dialog.getByLabel('Method').selectOption('PUT')
      expect(await axe(page)).toEqual([])
      await dialog.getByRole('button', { name: 'Save contact point' }).click()
      await page.getByRole('row', { name: /^Night hook/ }).waitFor()
      expect(await stored()).toMatchObject({ name: 'Night hook', config: { ...config, httpMethod: 'PUT' } })

      await page.getByRole('button', { name: 'Edit Night hook' }).click()
      await dialog.getByLabel('Address').fill('https://elsewhere.example.com/')
      await dialog.getByRole('button', { name: 'Save contact point' }).click()
      await dialog.getByText('send “Password” too').first().waitFor()
      await dialog.getByLabel('Remove: password').check()
      await dialog.getByLabel('Name', { exact: true }).fill('My hook')
      await call(updateContactPoint, { contactPointId, name: 'Their hook' })
      await dialog.getByRole('button', { name: 'Save contact point' }).click()
      await dialog.getByRole('row', { name: 'Name My hook Their hook' }).waitFor()
      await dialog.getByRole('row', { name: 'Address not shown not shown' }).waitFor()
      await dialog.getByRole('button', { name: 'Save mine' }).click()
      await page.getByRole('row', { name: /^My hook/ }).waitFor()
      const { password: _, ...rest } = config
      expect((await stored()).config).toEqual({
        ...rest,
        url: 'https://elsewhere.example.com/',
        httpMethod: 'PUT',
      })
      expect(await page.content()).not.toMatch(/secret-path|hook-password/)
    })

    it('lets somebody without an account accept their first invitation', async () => {
      const { platform } = fixture
      const accountId = await platform.makeAccount('First')
      const { admin, accountId: mainId } = platform
      const owner = await platform.makeUser({ accountId, admin: true, manageMembers: true })
      const guest = await platform.makeUser()
      await admin.client.call(removeMember, { accountId: mainId, membershipId: guest.membershipId })
      await owner.client.call(addMember, { accountId, email: guest.email, name: 'Guest' })
      const page = await fixture.signedIn('/', { token: guest.token })
      await page.getByText('You are not a member of any account').waitFor()
      await page.getByRole('button', { name: 'Accept First' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Accept' }).click()
      await page.getByRole('heading', { name: 'Environments', exact: true }).waitFor()
    })

    it('shows invitations of other accounts on every page, and accepts and declines them', async () => {
      const { platform } = fixture
      const guest = await platform.makeUser()
      for (const name of ['Pilots', 'Masters']) {
        const accountId = await platform.makeAccount(name)
        const owner = await platform.makeUser({ accountId, admin: true, manageMembers: true })
        await owner.client.call(addMember, { accountId, email: guest.email, name: 'Guest' })
      }
      const page = await fixture.signedIn('/', { token: guest.token })
      await page.getByRole('link', { name: 'You have 2 invitations' }).click()
      await page.waitForURL(/\/settings/)
      const list = page.getByRole('region', { name: 'List of invitations' })
      await list.getByRole('row', { name: /Pilots .* Full access/ }).waitFor()
      expect(await axe(page)).toEqual([])
      await page.getByRole('button', { name: 'Decline Masters' }).click()
      await page.getByRole('dialog').getByText('Masters', { exact: true }).waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Decline' }).click()
      await page.getByRole('link', { name: 'You have an invitation' }).waitFor()
      await page.getByRole('button', { name: 'Accept Pilots' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Accept' }).click()
      await page.getByText('No invitations').waitFor()
      await page.getByLabel('Account', { exact: true }).selectOption({ label: 'Pilots' })
      const { accounts } = await guest.client.call(listAccounts, {})
      expect(accounts.map(({ name }) => name).sort()).toEqual(['Main', 'Pilots'])
    })
  },
)
