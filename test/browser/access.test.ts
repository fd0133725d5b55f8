import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createAccount } from '../../src/contract/accounts.ts'
import { updateAppEnvVariables } from '../../src/contract/app-env-actions.ts'
import { getAppEnv } from '../../src/contract/app-envs.ts'
import { ConsoleFixture, noBrowser } from '../../testkit/console/fixture.ts'
import { follow } from '../../testkit/console/inspect.ts'

describe.skipIf(noBrowser !== null)(
  `the console in a browser: who gets in and sees what${noBrowser ? ` (skipped: ${noBrowser})` : ''}`,
  { timeout: 180_000 },
  () => {
    let fixture: ConsoleFixture
    beforeAll(async () => {
      fixture = await ConsoleFixture.start({ reconciles: false })
    })
    afterAll(() => fixture?.close())
    afterEach(async () => {
      expect(await fixture.endTest()).toEqual([])
      fixture.tolerated = null
    })

    it('signs in by a link once, and keeps no secret in address, history or storage', async () => {
      const page = await fixture.page(await fixture.context())
      const { code } = await fixture.platform.sessions.createLink(fixture.platform.admin.token)
      const link = `${fixture.address('/sign-in')}#${code}`
      await page.goto(link)
      await page.getByRole('heading', { name: 'Environments', exact: true }).waitFor()
      expect(page.url()).toBe(fixture.address('/'))
      await page.goBack().catch(() => null)
      expect(page.url()).not.toContain(code)
      await page.goto(fixture.address('/'))
      await page.getByRole('heading', { name: 'Environments', exact: true }).waitFor()
      const kept = await page.evaluate(() =>
        JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
      )
      expect(kept).not.toContain(code)
      expect(kept).not.toMatch(/lsu_|longshore-session/)
      const other = await fixture.page(await fixture.context())
      await other.goto(link)
      await other.getByRole('alert').getByText('Sign-in link is not valid').waitFor()
    })

    it('takes a new link in a tab that is signed out, where only the fragment changes', async () => {
      const page = await fixture.page(await fixture.context())
      await page.goto(fixture.address('/sign-in'))
      await page.getByRole('heading', { name: 'Sign in to Longshore' }).waitFor()
      expect(await page.title()).toBe('Sign in to Longshore · Longshore')
      const { code } = await fixture.platform.sessions.createLink(fixture.platform.admin.token)
      await page.goto(`${fixture.address('/sign-in')}#${code}`)
      await page.getByRole('heading', { name: 'Environments', exact: true }).waitFor()
      expect(await page.title()).toBe('Environments · Longshore')
      expect(page.url()).not.toContain(code)
    })

    it('returns to the same place after an expired session, but never to another site (open redirect)', async () => {
      const page = await fixture.page(await fixture.context())
      const enter = async () => {
        await page.getByLabel('User token').fill(fixture.platform.admin.token)
        await page.getByRole('button', { name: 'Sign in' }).click()
      }
      await page.goto(fixture.address('/activity?outcome=done'))
      await page.waitForURL(/sign-in/)
      await enter()
      await page.waitForURL(fixture.address('/activity?outcome=done'))
      // words.test.ts has more of them.
      for (const next of ['//evil.example/', 'javascript:alert(1)']) {
        await page.goto(`${fixture.address('/sign-in')}?next=${encodeURIComponent(next)}`)
        await enter()
        await page.waitForURL(fixture.address('/'))
      }
    })

    it('ends on the open page when its token is revoked', async () => {
      const { admin } = fixture.platform
      const made = await fixture.platform.request('POST', '/user/tokens', {
        token: admin.token,
        input: { name: 'soon gone' },
      })
      const page = await fixture.signedIn('/', { token: made.json.token })
      await page.getByRole('heading', { name: 'Environments', exact: true }).waitFor()
      await fixture.platform.request('DELETE', '/user/token', {
        token: admin.token,
        input: { tokenId: made.json.tokenId },
      })
      await page.waitForURL(/\/console\/sign-in/)
    })

    it('signs out everywhere', async () => {
      const [first, second] = [await fixture.signedIn(), await fixture.signedIn()]
      await first.getByRole('button', { name: 'Sign out everywhere' }).click()
      await first.getByRole('heading', { name: 'Sign in to Longshore' }).waitFor()
      await second.waitForURL(/sign-in/)
    })

    it('cannot be framed, and runs only its own scripts (clickjacking, CSP)', async () => {
      fixture.tolerated = /frame-ancestors|Content Security Policy|Trusted(Script|HTML)/i
      const page = await fixture.page(await fixture.context())
      await page.route('https://evil.example/', (route) =>
        route.fulfill({ contentType: 'text/html', body: `<iframe src="${fixture.address('/')}"></iframe>` }),
      )
      await page.goto('https://evil.example/')
      const framed = page.frames().find((frame) => frame !== page.mainFrame())
      expect(await framed?.locator('#console').count()).toBe(0)
      const own = await fixture.signedIn()
      const ran = await own.evaluate(() => {
        const attempts = [
          () => {
            const script = document.createElement('script')
            script.textContent = 'globalThis.injected = true'
            document.body.append(script)
          },
          () => {
            document.body.innerHTML = '<img src=x onerror="globalThis.injected = true">'
          },
          () => document.body.setAttribute('onclick', 'globalThis.injected = true'),
          () => document.body.click(),
        ]
        for (const attempt of attempts) {
          try {
            attempt()
          } catch {}
        }
        return 'injected' in globalThis
      })
      expect(ran).toBe(false)
    })

    it("renders tenants' input as text (stored script)", async () => {
      const hostile = '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>'
      const { platform } = fixture
      const { appEnvId } = await platform.makeEnvironment({
        app: { name: hostile.slice(0, 100) },
        environment: { name: hostile.slice(0, 100), cliEnvName: 'hostile' },
      })
      await platform.admin.client.call(updateAppEnvVariables, {
        appEnvId,
        set: [{ name: 'X', value: hostile, isSecret: false }],
      })
      await platform.logs.append(appEnvId, [
        {
          at: new Date().toISOString(),
          stream: 'stdout',
          type: 'RUNTIME',
          podName: hostile,
          contentId: null,
          message: hostile,
        },
      ])
      const page = await fixture.signedIn()
      for (const pathname of [
        '/activity',
        '/',
        ...['', '/variables', '/logs', '/activity', '/settings'].map((one) => `/environments/hostile${one}`),
      ]) {
        await follow(page, pathname)
        await page.getByText('<img src=x').first().waitFor({ state: 'attached' })
        expect(await page.title(), pathname).not.toContain('owned')
        expect(await page.locator('img[src="x"]').count(), pathname).toBe(0)
      }
    })

    it('opens an environment in its account, although its address names none', async () => {
      const { platform } = fixture
      const user = await platform.makeUser()
      const { accountId } = await user.client.call(createAccount, { name: 'Second' })
      const environment = { cliEnvName: 'in-second' }
      await platform.makeEnvironment({ accountId, by: user.client, environment })
      const page = await fixture.signedIn('/', { token: user.token })
      await page.goto(fixture.address('/environments/in-second'))
      await page.waitForURL(fixture.address(`/environments/in-second?account=${accountId}`))
      await page.getByText('Nothing is deployed yet.').waitFor()
      const chosen = page.getByLabel('Account', { exact: true }).getByRole('option', { selected: true })
      expect(await chosen.innerText()).toBe('Second')
    })

    it('M2: shows the same not-found page for a restricted and a missing environment', async () => {
      const { platform } = fixture
      const account = await platform.makeAccount('guarded', { memberEnvAccessEnabled: true })
      const owner = await platform.makeUser({ accountId: account, admin: true })
      const open = await platform.makeEnvironment({ accountId: account, by: owner.client })
      const closed = await platform.makeEnvironment({ accountId: account, by: owner.client })
      const member = await platform.makeUser({ accountId: account, allowedAppEnvIds: [open.appEnvId] })
      const nameOf = async (appEnvId: string) => (await owner.client.call(getAppEnv, { appEnvId })).cliEnvName
      const [openName, closedName] = [await nameOf(open.appEnvId), await nameOf(closed.appEnvId)]
      const page = await fixture.signedIn('/', { token: member.token })
      await page.getByRole('link', { name: /prod$/ }).waitFor()
      expect(await page.getByRole('link', { name: /prod$/ }).count()).toBe(1)
      const shown = async (pathname: string) => {
        // A page load: the page before it is the same, and must not be taken for this one.
        await page.goto(fixture.address(pathname))
        await page.getByRole('heading', { name: 'Page not found' }).waitFor()
        return page.locator('main').innerHTML()
      }
      const tabs = [
        '',
        '/deployments',
        '/versions',
        '/runs',
        '/runs/run_unknown',
        '/job-settings',
        '/logs',
        '/variables',
        '/scaling',
        '/database',
        '/backups',
        '/activity',
        '/settings',
      ]
      const unknown = await shown('/environments/no-such-environment')
      for (const tab of tabs) expect(await shown(`/environments/${closedName}${tab}`), tab).toBe(unknown)
      await page.goto(fixture.address(`/environments/${openName}`))
      await page.getByText('Nothing is deployed yet.').waitFor()
      await page.goto(fixture.address('/activity'))
      await page.getByText('You do not have permission for this').waitFor()
    })
  },
)
