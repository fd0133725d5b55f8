import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { getAppEnv } from '../../src/contract/app-envs.ts'
import { listUserTokens } from '../../src/contract/users.ts'
import { ConsoleFixture, noBrowser } from '../../testkit/console/fixture.ts'
import { axeInBothThemes } from '../../testkit/console/inspect.ts'
import { RawClient } from '../../testkit/oauth/raw-client.ts'

describe.skipIf(noBrowser !== null)(
  `the consent page${noBrowser ? ` (skipped: ${noBrowser})` : ''}`,
  { timeout: 180_000 },
  () => {
    let fixture: ConsoleFixture
    /** The program that asks: its callback, and a page that frames the consent page. */
    let host: Server
    let hostUrl = ''
    let framed = ''
    beforeAll(async () => {
      fixture = await ConsoleFixture.start({ reconciles: false, oauth: {} })
      host = createServer((req, res) => {
        res.setHeader('content-type', 'text/html')
        const page = req.url === '/frame' ? `<iframe src="${framed}"></iframe>` : 'Back at the host'
        res.end(`<!doctype html><title>Host</title>${page}`)
      })
      await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
      hostUrl = `http://127.0.0.1:${(host.address() as AddressInfo).port}`
    })
    afterAll(async () => {
      await fixture?.close()
      host?.closeAllConnections()
      await new Promise((resolve) => host?.close(resolve))
    })
    afterEach(async () => expect(await fixture.endTest()).toEqual([]))

    const register = (name: string) =>
      RawClient.register(fixture.platform.apiUrl, `${hostUrl}/callback`, { client_name: name })
    const signedInAt = async (url: URL, token?: string) => {
      const page = await fixture.signedIn('/tokens', token ? { token } : {})
      await page.goto(url.href)
      await page.getByRole('heading', { name: 'Connect an agent' }).waitFor()
      return page
    }
    const answerAt = async (page: Page) => {
      await page.waitForURL(`${hostUrl}/callback?*`)
      return new URL(page.url()).searchParams
    }
    const grantsOf = async (token: string) => {
      const { tokens } = await fixture.platform.client(token).call(listUserTokens, {})
      return tokens.filter(({ agent }) => agent !== null)
    }

    it('does not go to the address of a program by itself: anyone can register one', async () => {
      const client = await register('A stranger')
      const page = await signedInAt(client.url({ response_type: 'token' }))
      await page.getByRole('heading', { name: 'This request cannot be granted' }).waitFor()
      const way = page.getByRole('link', { name: 'Back to the program' })
      await page.getByText('a program on this computer (127.0.0.1)').waitFor()
      expect(await axeInBothThemes(page)).toEqual([])
      expect(new URL(page.url()).origin).toBe(fixture.platform.apiUrl)
      await way.click()
      expect((await answerAt(page)).get('error')).toBe('unsupported_response_type')
    })

    it('decides only for the person that it named, when another one signs in meanwhile', async () => {
      const [shown, later] = [await fixture.platform.makeUser(), await fixture.platform.makeUser()]
      const client = await register('Claude Code')
      const page = await signedInAt(client.url(), shown.token)
      await page.getByText(shown.email).waitFor()
      // The cookie belongs to all tabs.
      const session = await page.evaluate(
        async (token) =>
          (
            await fetch('/console/session', {
              method: 'POST',
              headers: { 'content-type': 'application/json', 'longshore-console': '1' },
              body: JSON.stringify({ token }),
            })
          ).status,
        later.token,
      )
      expect(session).toBe(200)
      await page.getByRole('button', { name: 'Allow' }).click()
      await page.getByText('Another person has signed in').waitFor()
      expect(await grantsOf(later.token)).toEqual([])
    })

    it('asks for a sign-in first, then says in words what the agent may do, and the person agrees', async () => {
      const user = await fixture.platform.makeUser({ admin: true })
      const client = await register('Claude on my laptop')
      const page = await fixture.page(await fixture.context())
      await page.goto(client.url({ state: '"1e5" & more' }).href)
      await page.getByLabel('User token').fill(user.token)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('Claude on my laptop').waitFor()
      await page.getByText(user.email).waitFor()
      await page.getByText('The program chose this name itself.').waitFor()
      const words = 'Create, change, deploy, start and stop apps and environments'
      expect(await page.getByLabel(words).isChecked()).toBe(true)
      expect(await page.getByLabel(/^Delete apps/).count()).toBe(0)
      expect(await axeInBothThemes(page)).toEqual([])
      await page.setViewportSize({ width: 320, height: 900 })
      await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
      await page.getByRole('button', { name: 'Allow' }).click()
      const answer = await answerAt(page)
      expect(answer.get('state')).toBe('"1e5" & more')
      expect(answer.get('iss')).toBe(fixture.platform.apiUrl)
      expect((await client.exchange(answer.get('code')!)).status).toBe(200)
      const [grant] = await grantsOf(user.token)
      expect(grant).toMatchObject({ name: 'Claude on my laptop', readOnly: false, agent: { groups: null } })
      expect(Date.parse(grant!.expiresAt!) - Date.parse(grant!.createdAt)).toBeGreaterThan(29 * 86_400_000)
      await page.context().close()
    })

    it('narrows the agent to one environment, to reading and to some tools; the page Tokens revokes it', async () => {
      const user = await fixture.platform.makeUser({ admin: true })
      const { appEnvId } = await fixture.platform.makeEnvironment()
      const { cliEnvName } = await fixture.platform.admin.client.call(getAppEnv, { appEnvId })
      const client = await register('Narrow agent')
      const page = await signedInAt(client.url(), user.token)
      await page.getByLabel('Read-only: it can change nothing').check()
      await page.getByLabel('Where').selectOption({ label: 'Only the account Main' })
      await page.getByLabel('In this account').selectOption({ label: 'Only some environments' })
      expect(await page.getByRole('button', { name: 'Allow' }).isDisabled()).toBe(true)
      await page.getByLabel(cliEnvName).check()
      await page.getByText('Tools: all').click()
      await page.getByLabel('Databases and backups').uncheck()
      await page.getByLabel('Access ends').selectOption('In 7 days')
      await page.getByRole('button', { name: 'Allow' }).click()
      const answer = await client.exchange((await answerAt(page)).get('code')!)
      const { access_token, scope } = (await answer.json()) as { access_token: string; scope: string }
      expect(scope).toBe('environments:read')
      const [grant] = await grantsOf(user.token)
      expect(grant).toMatchObject({ readOnly: true, agent: { pin: { env: appEnvId, app: null } } })
      expect(grant!.agent!.groups).not.toContain('databases')
      expect(await client.statusOf(access_token, 'get-app-env-status')).toBe(200)

      await page.goto(fixture.address('/tokens'))
      const row = page.getByRole('row', { name: /^Narrow agent/ })
      await row.getByText(`environments:read in ${appEnvId}`).waitFor()
      await row.getByRole('button', { name: 'Revoke Narrow agent' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke token' }).click()
      await row.waitFor({ state: 'detached' })
      expect(await client.statusOf(access_token, 'get-app-env-status')).toBe(401)
      await page.context().close()
    })

    it('narrows the agent to several environments, with each box beside its words', async () => {
      const user = await fixture.platform.makeUser({ admin: true })
      const wanted = [await fixture.platform.makeEnvironment(), await fixture.platform.makeEnvironment()]
      const client = await register('Agent of two')
      const page = await signedInAt(client.url(), user.token)
      await page.getByLabel('Where').selectOption({ label: 'Only the account Main' })
      await page.getByLabel('In this account').selectOption({ label: 'Only some environments' })
      for (const { appEnvId } of wanted) {
        const { cliEnvName } = await fixture.platform.admin.client.call(getAppEnv, { appEnvId })
        await page.getByLabel(cliEnvName).check()
      }
      for (const width of [1_200, 320]) {
        await page.setViewportSize({ width, height: 900 })
        for (const label of await page.locator('.consent form > fieldset > label').all()) {
          const [outer, box] = await Promise.all([label.boundingBox(), label.locator('input').boundingBox()])
          expect(Math.abs(box!.y + box!.height / 2 - (outer!.y + outer!.height / 2))).toBeLessThan(3)
        }
      }
      expect(await axeInBothThemes(page)).toEqual([])
      await page.getByRole('button', { name: 'Allow' }).click()
      expect((await client.exchange((await answerAt(page)).get('code')!)).status).toBe(200)
      const [grant] = await grantsOf(user.token)
      const environments = wanted.map(({ appEnvId }) => appEnvId)
      expect(grant!.agent!.pin).toMatchObject({
        account: fixture.platform.accountId,
        env: null,
        environments,
      })
      await page.context().close()
    })

    it('a step-up starts from the limits of the access, shows what changes, and replaces it', async () => {
      const user = await fixture.platform.makeUser({ admin: true })
      const { appEnvId } = await fixture.platform.makeEnvironment()
      const { cliEnvName } = await fixture.platform.admin.client.call(getAppEnv, { appEnvId })
      const client = await register('Growing agent')
      const page = await signedInAt(client.url(), user.token)
      await page.getByLabel('Where').selectOption({ label: 'Only the account Main' })
      await page.getByLabel('In this account').selectOption({ label: 'Only some environments' })
      await page.getByLabel(cliEnvName).check()
      await page.getByRole('button', { name: 'Allow' }).click()
      const first = await client.exchange((await answerAt(page)).get('code')!)
      const { access_token } = (await first.json()) as { access_token: string }
      expect(await client.statusOf(access_token, 'delete-app-env')).toBe(403)

      const scope = 'environments:read environments:write environments:delete'
      await page.goto(client.url({ scope }).href)
      const changes = page.getByRole('region', { name: 'What changes' })
      await changes.getByText('New: Delete apps, environments and backups').waitFor()
      expect(await changes.getByRole('listitem').count()).toBe(1)
      expect(await page.getByLabel(cliEnvName).isChecked()).toBe(true)
      await page.getByLabel('Where').selectOption({ label: 'Everything you can reach' })
      await changes.getByText(`Where: 1 environment (${appEnvId}) → everything you can reach`).waitFor()
      await page.getByLabel('Where').selectOption({ label: 'Only the account Main' })
      await page.getByLabel('In this account').selectOption({ label: 'Only some environments' })
      await page.getByLabel(cliEnvName).check()
      expect(await changes.getByRole('listitem').count()).toBe(1)
      expect(await axeInBothThemes(page)).toEqual([])
      await page.getByRole('button', { name: 'Allow' }).click()
      expect((await client.exchange((await answerAt(page)).get('code')!)).status).toBe(200)
      const grants = await grantsOf(user.token)
      expect(grants).toMatchObject([{ agent: { scopes: scope.split(' '), pin: { env: appEnvId } } }])
      await page.context().close()
    })

    it('tells the program when the person cancels', async () => {
      const page = await signedInAt((await register('Unwanted')).url())
      await page.getByRole('button', { name: 'Cancel' }).click()
      expect((await answerAt(page)).get('error')).toBe('access_denied')
      await page.context().close()
    })

    it('stays here for an address that is not of the program, and shows hostile names as text', async () => {
      const client = await register('<img src=x onerror=alert(1)>')
      const page = await signedInAt(client.url())
      await page.getByText('<img src=x onerror=alert(1)>').waitFor()
      await page.goto(client.url({ redirect_uri: `${hostUrl}/other` }).href)
      await page.getByText('This program cannot be connected').waitFor()
      expect(await page.getByRole('button', { name: 'Allow' }).count()).toBe(0)
      expect(new URL(page.url()).origin).toBe(fixture.platform.apiUrl)
      await page.context().close()
    })

    it('does not appear in a frame of another page (clickjacking)', async () => {
      const client = await register('Framed')
      framed = client.url().href
      const page = await fixture.signedIn('/tokens')
      fixture.tolerated = /frame-ancestors|X-Frame-Options/
      await page.goto(`${hostUrl}/frame`)
      await expect.poll(() => page.frames().length).toBe(2)
      const frame = page.frames()[1]!
      await expect.poll(() => frame.url()).toMatch(/^chrome-error:/)
      expect(await frame.getByRole('button', { name: 'Allow' }).count()).toBe(0)
      fixture.tolerated = null
      await page.context().close()
    })
  },
)
