import type { Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { scaleAppEnvContainers } from '../../src/contract/app-env-actions.ts'
import { getAppEnv, updateAppEnv } from '../../src/contract/app-envs.ts'
import { createUserToken, listUserTokens, revokeUserToken } from '../../src/contract/users.ts'
import { ConsoleFixture, noBrowser } from '../../testkit/console/fixture.ts'

const stored = (page: Page) =>
  page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))

describe.skipIf(noBrowser !== null)(
  `the console in a browser: forms keep what was typed${noBrowser ? ` (skipped: ${noBrowser})` : ''}`,
  { timeout: 180_000 },
  () => {
    let fixture: ConsoleFixture
    let appEnvId = ''
    beforeAll(async () => {
      fixture = await ConsoleFixture.start({ reconciles: false })
      const environment = { cliEnvName: 'shop' }
      ;({ appEnvId } = await fixture.platform.makeEnvironment({ environment }))
    })
    afterAll(() => fixture?.close())
    afterEach(async () => expect(await fixture.endTest()).toEqual([]))

    /** A page whose session ends when `expire` is called. */
    async function pageWithSession(pathname: string) {
      const { client } = fixture.platform.admin
      const { token, tokenId } = await client.call(createUserToken, { name: 'short' })
      const page = await fixture.signedIn(pathname, { token })
      const expire = async (field?: Locator) => {
        await client.call(revokeUserToken, { tokenId })
        // The next read or write finds out; the page may have been quicker.
        if (field) await page.keyboard.press('Enter')
        await page.waitForURL(/\/sign-in/)
      }
      return { page, expire }
    }
    async function signIn(page: Page, token = fixture.platform.admin.token): Promise<void> {
      await page.getByLabel('User token').fill(token)
      await page.getByRole('button', { name: 'Sign in' }).click()
    }

    it('brings back a dialog after the session expired, without the value of the variable', async () => {
      const { page, expire } = await pageWithSession('/environments/shop/variables')
      await page.getByRole('button', { name: 'Add variable' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill('MY_KEY')
      await dialog.getByLabel('Value').fill('typed-secret')
      await dialog.getByLabel('Used for').selectOption('DEPLOY')
      await expire()
      expect(await stored(page)).toContain('MY_KEY')
      expect(await stored(page)).not.toContain('typed-secret')
      // The sign-in page may be loaded again, by a link that signs in.
      await page.reload()
      await signIn(page)
      await page.waitForURL(fixture.address('/environments/shop/variables'))
      expect(await dialog.getByLabel('Name').inputValue()).toBe('MY_KEY')
      expect(await dialog.getByLabel('Used for').inputValue()).toBe('DEPLOY')
      expect(await dialog.getByLabel('Value').inputValue()).toBe('')
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      expect(await stored(page)).not.toContain('MY_KEY')
    })

    it('goes on to the same page, with what was typed, when another tab signs in', async () => {
      const { page, expire } = await pageWithSession('/environments/shop/alerts/new')
      await page.getByLabel('Name').fill('kept text')
      await expire()
      const other = await fixture.page(page.context())
      await other.goto(fixture.address('/sign-in'))
      await signIn(other)
      await other.getByRole('heading', { name: 'Environments', exact: true }).waitFor()
      await page.waitForURL(fixture.address('/environments/shop/alerts/new'))
      await expect.poll(() => page.getByLabel('Name').inputValue()).toBe('kept text')
    })

    it('keeps focus in a dialog, closes it on Escape only, and gives focus back', async () => {
      const page = await fixture.signedIn('/environments/shop/variables')
      const add = page.getByRole('button', { name: 'Add variable' })
      await add.focus()
      await page.keyboard.press('Enter')
      const dialog = page.getByRole('dialog', { name: 'Add' })
      await dialog.getByLabel('Name').fill('TYPED')
      // After the last field, Tab reaches the browser's own controls; the page behind is never focused.
      const hasFocus = () =>
        dialog.evaluate(
          (element) => element.contains(document.activeElement) || document.activeElement === document.body,
        )
      for (let presses = 0; presses < 12; presses += 1) {
        await page.keyboard.press('Tab')
        expect(await hasFocus()).toBe(true)
      }
      await page.mouse.click(5, 5)
      expect(await dialog.getByLabel('Name').inputValue()).toBe('TYPED')
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      await expect.poll(() => add.evaluate((element) => element === document.activeElement)).toBe(true)
    })

    it('brings back pages and dialogs alike: a new alert, a contact point, a token, a member, access', async () => {
      const forms = [
        { at: '/environments/shop/alerts/new', open: null, label: 'Name' },
        { at: '/contact-points', open: 'New contact point', label: 'Name' },
        { at: '/tokens', open: 'Create token', label: 'Name' },
        { at: '/members', open: 'Add member', label: 'E-mail' },
      ]
      for (const { at, open, label } of forms) {
        const { page, expire } = await pageWithSession(at)
        if (open !== null) await page.getByRole('button', { name: open }).click()
        const field = page.getByLabel(label, { exact: true })
        await field.fill('half-typed')
        if (at === '/contact-points') await page.getByLabel('Address').fill('https://secret.example.com')
        await expire(at === '/members' ? undefined : field)
        expect(await stored(page)).not.toContain('secret.example.com')
        await signIn(page)
        await page.waitForURL(fixture.address(at))
        await field.waitFor()
        expect(await field.inputValue(), at).toBe('half-typed')
        // Kept in memory, which the sign-in page shares.
        if (at === '/contact-points')
          expect(await page.getByLabel('Address').inputValue()).toBe('https://secret.example.com')
        await page.context().close()
      }
      const member = await fixture.platform.makeUser()
      const name = `User ${member.email.match(/\d+/)?.[0]} reaches shop`
      const { page, expire } = await pageWithSession('/members')
      await page.getByLabel(name).uncheck()
      await expire()
      await signIn(page)
      await page.getByText('1 member changed, not saved').waitFor()
    })

    it('compares with what changed while the person was signed out', async () => {
      const { client } = fixture.platform.admin
      const { page, expire } = await pageWithSession('/environments/shop/settings')
      const form = page.getByRole('form', { name: 'Name' })
      await form.getByLabel('Name').fill('my name')
      await expire()
      await client.call(updateAppEnv, { appEnvId, name: 'their name' })
      await signIn(page)
      await form.waitFor()
      expect(await form.getByLabel('Name').inputValue()).toBe('my name')
      await form.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByRole('row', { name: 'Name my name their name' }).waitFor()
      await page.getByRole('button', { name: 'Take theirs' }).click()
      expect(await form.getByLabel('Name').inputValue()).toBe('their name')
    })

    /** The sign-in page, in a tab where a person typed something and whose session ended. */
    async function leftBehind() {
      const other = await fixture.platform.makeUser()
      const { page, expire } = await pageWithSession('/environments/shop/settings')
      const field = page.getByRole('form', { name: 'Name' }).getByLabel('Name')
      await field.fill('not for others')
      await expire()
      return { page, field, other }
    }

    it('shows nothing of it to another person, nor after the page was left or signed out', async () => {
      const { page, field, other } = await leftBehind()
      await signIn(page, other.token)
      await field.waitFor()
      expect(await field.inputValue()).toBe('their name')
      expect(await stored(page)).not.toContain('not for others')
      await field.fill('left behind')
      await page.getByRole('link', { name: 'Activity' }).last().click()
      await field.waitFor({ state: 'detached' })
      await page.getByRole('link', { name: 'Settings', exact: true }).click()
      expect(await field.inputValue()).toBe('their name')
      await field.fill('signed out')
      await page.getByRole('button', { name: 'Sign out', exact: true }).click()
      await page.getByRole('heading', { name: 'Sign in to Longshore' }).waitFor()
      expect(await stored(page)).not.toContain('signed out')
    })

    it('shows nothing of it to another person either while it is not known who that is', async () => {
      const { page, field, other } = await leftBehind()
      await page.route(/\/api\/public\/v1\/user$/, (route) => route.abort('connectionaborted'))
      await signIn(page, other.token)
      await field.waitFor()
      expect(await field.inputValue()).not.toBe('not for others')
      expect(await stored(page)).not.toContain('not for others')
    })

    it('opens, signs in and writes once although the network drops each request the first time', async () => {
      const page = await fixture.page(await fixture.context())
      const dropped = new Set<string>()
      await page.route(/\/console\/assets\/(?!boot-)|\/console\/session$|\/api\//, async (route) => {
        const request = route.request()
        const one = `${request.method()} ${request.url()}`
        if (dropped.has(one)) return route.continue()
        dropped.add(one)
        // The write arrives, its answer does not.
        if (one === `POST ${fixture.platform.apiUrl}/api/public/v1/user/tokens`) await route.fetch()
        return route.abort('connectionaborted')
      })
      const { token, client } = fixture.platform.admin
      const { code } = await fixture.platform.sessions.createLink(token)
      await page.goto(`${fixture.address('/sign-in')}?next=%2Fconsole%2Ftokens#${code}`)
      await page.getByRole('button', { name: 'Create token' }).click()
      await page.getByLabel('Name').fill('made once')
      await page.getByRole('button', { name: 'Create', exact: true }).click()
      await page.getByRole('row', { name: /^made once/ }).waitFor()
      const { tokens } = await client.call(listUserTokens, {})
      expect(tokens.filter(({ name }) => name === 'made once')).toHaveLength(1)
      expect(await page.evaluate(() => document.styleSheets.length)).toBe(1)
      expect([...dropped].map((one) => one.replace(/.*\/(\w+)[^/]*$/, '$1'))).toEqual(
        expect.arrayContaining(['main', 'chunk', 'TokensPage', 'session', 'tokens']),
      )
    })

    it('keeps a form through a lost connection and a conflict, and saves it afterwards', async () => {
      const page = await fixture.signedIn('/environments/shop/scaling')
      const form = page.getByRole('form', { name: 'Containers' })
      const field = form.getByRole('spinbutton')
      await field.fill('2')
      await page.context().setOffline(true)
      await form.getByRole('button', { name: 'Scale now' }).click()
      await form.getByRole('alert').waitFor()
      expect(await field.inputValue()).toBe('2')
      await fixture.platform.admin.client.call(scaleAppEnvContainers, { appEnvId, containers: 3 })
      await page.context().setOffline(false)
      await page.getByText('Connection lost.').waitFor({ state: 'detached' })
      await form.getByRole('button', { name: 'Scale now' }).click()
      await form.getByRole('row', { name: 'Containers 2 3' }).waitFor()
      await form.getByRole('button', { name: 'Save mine' }).click()
      const { client } = fixture.platform.admin
      await expect.poll(async () => (await client.call(getAppEnv, { appEnvId })).containers).toBe(2)
      // Saved: from here on the input follows the platform again.
      await client.call(scaleAppEnvContainers, { appEnvId, containers: 4 })
      await expect.poll(() => field.inputValue()).toBe('4')
      fixture.complaints.length = 0
    })
  },
)
