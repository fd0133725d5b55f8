import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { getPolicy, updatePolicy } from '../../src/contract/policy.ts'
import { ConsoleFixture, noBrowser } from '../../testkit/console/fixture.ts'
import { inspectPages } from '../../testkit/console/inspect.ts'

describe.skipIf(noBrowser !== null)(
  `the policy of the console in a browser${noBrowser ? ` (skipped: ${noBrowser})` : ''}`,
  { timeout: 180_000 },
  () => {
    let fixture: ConsoleFixture
    let appEnvId = ''
    let agent = ''
    const stored = async () => {
      const { platform } = fixture
      const { rules, freezes, budgets, mode } = await platform.admin.client.call(getPolicy, {
        accountId: platform.accountId,
      })
      return { rules, freezes, budgets, mode }
    }
    const write = (name: string) =>
      fixture.platform.request('PATCH', '/app-env/variables', {
        token: agent,
        input: { appEnvId, set: [{ name, value: 'x', isSecret: false }] },
      })

    beforeAll(async () => {
      fixture = await ConsoleFixture.start({ reconciles: false })
      const { platform } = fixture
      const environment = { cliEnvName: 'shop-live' }
      ;({ appEnvId } = await platform.makeEnvironment({ app: { name: 'shop', useImage: true }, environment }))
      const made = await platform.request('POST', '/user/tokens', {
        token: platform.admin.token,
        input: { name: 'bot', kind: 'agent', label: 'Deploy bot' },
      })
      agent = made.json.token
    })
    afterAll(() => fixture?.close())
    afterEach(async () => expect(await fixture.endTest()).toEqual([]))

    it('begins with a starting policy, shows what it would have stopped, and puts it in force', async () => {
      const page = await fixture.signedIn('/policy')
      await page.getByRole('button', { name: 'Use Reviewed' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Replace policy' }).click()
      await page.getByRole('row', { name: /^agents-propose Ask a person agents/ }).waitFor()
      await page.getByRole('button', { name: 'Only observe' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Only observe' }).click()
      await page.getByText('Only observed', { exact: true }).waitFor()
      expect((await write('SEEN')).status).toBe(200)
      await page.reload()
      await page.getByText(/^Of \d+ writes? it would hold 1 for a person and deny 0\./).waitFor()
      const row = page.getByRole('row', {
        name: /Change variables shop-live Ask a person agents-propose Deploy bot/,
      })
      await row.waitFor()
      await page.getByRole('button', { name: 'Put in force' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Put in force' }).click()
      await page.getByText('In force', { exact: true }).waitFor()
      expect((await write('HELD')).status).toBe(202)
    })

    it('edits a rule as a form, with errors at their input, and keeps what has no input', async () => {
      const { platform } = fixture
      const { accountId, admin } = platform
      const rules = [
        {
          id: 'mine',
          effect: 'deny' as const,
          who: { kinds: ['agent' as const], surfaces: ['mcp' as const] },
        },
      ]
      await admin.client.call(updatePolicy, { accountId, rules })
      const page = await fixture.signedIn('/policy')
      await page.getByRole('button', { name: 'Edit mine' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Operations').fill('delete-*, restrat-app-env')
      await dialog.getByLabel('Conditions on the impact').fill('dataLost eq true\ncontainersEnded gt 2')
      await dialog.getByRole('checkbox', { name: 'remediations' }).check()
      await dialog.getByRole('button', { name: 'Save' }).click()
      await expect.poll(() => dialog.getByLabel('Operations').getAttribute('aria-invalid')).toBe('true')
      await dialog.getByLabel('Operations').fill('delete-*')
      await dialog.getByLabel('People who must approve').fill('2')
      await dialog.getByLabel('Effect').selectOption('ask')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.waitFor({ state: 'detached' })
      expect((await stored()).rules).toEqual([
        {
          ...{ id: 'mine', effect: 'ask' },
          who: { kinds: ['agent', 'remediation'], surfaces: ['mcp'] },
          on: { operations: ['delete-*'] },
          when: [
            { impact: 'dataLost', is: 'eq', value: true },
            { impact: 'containersEnded', is: 'gt', value: 2 },
          ],
          approvers: { count: 2, notRequester: false },
        },
      ])
    })

    it('adds and removes a budget and a freeze, and draws what agents used as bars', async () => {
      const page = await fixture.signedIn('/policy')
      const dialog = page.getByRole('dialog')
      await page.getByRole('button', { name: 'Add budget' }).click()
      await dialog.getByLabel('Short name').fill('bot-writes')
      await dialog.getByLabel('Limit', { exact: true }).fill('4')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('row', { name: /^bot-writes Deny 4 writes in an hour for each agent/ }).waitFor()
      expect((await write('COUNTED')).status).toBe(200)
      await page.reload()
      const bar = page.getByRole('meter', { name: /^bot-writes of Deploy bot for/ })
      await bar.waitFor()
      expect(await bar.getAttribute('value')).toBe('1')
      await page.getByText('1 of 4 writes').waitFor()

      await page.getByRole('button', { name: 'Add freeze' }).click()
      await dialog.getByLabel('Short name').fill('weekend')
      await dialog.getByRole('checkbox', { name: 'Saturday' }).check()
      await dialog.getByLabel('Starts at').fill('00:00')
      await dialog.getByLabel('Ends at').fill('23:59')
      await dialog.getByLabel('Time zone').fill('Mars/Base')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.getByText('must be an IANA time zone such as Europe/Berlin').waitFor()
      await dialog.getByLabel('Time zone').fill('Europe/Berlin')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('row', { name: /^weekend Deny Saturday 00:00 to 23:59/ }).waitFor()
      for (const name of ['weekend', 'bot-writes']) {
        await page.getByRole('button', { name: `Remove ${name}` }).click()
        await dialog.getByRole('button', { name: 'Remove' }).click()
        await dialog.waitFor({ state: 'detached' })
      }
      expect(await stored()).toMatchObject({ freezes: [], budgets: [] })
    })

    it('edits the policy as text, selects the line of an error, and tries it before it is saved', async () => {
      const page = await fixture.signedIn('/policy')
      const area = page.getByLabel('Policy as text')
      const text =
        'mode: enforce\nrules:\n  - id: broad\n    effect: deny\n    on:\n      operations: [nonsense]\n'
      await area.fill(text)
      await page.getByRole('button', { name: 'Save policy' }).click()
      await page.getByText(/^Line 6: /).waitFor()
      const selected = await area.evaluate((element) => {
        const { value, selectionStart, selectionEnd } = element as HTMLTextAreaElement
        return value.slice(selectionStart, selectionEnd)
      })
      expect(selected).toBe('nonsense')
      await area.fill('rules: [')
      await page.getByRole('button', { name: 'Save policy' }).click()
      await page.getByText(/^Line \d: /).waitFor()
      await area.fill(text.replace('nonsense', 'update-app-env-variables').replace('deny', 'ask'))
      await page.getByRole('button', { name: 'Try it on the last 7 days' }).click()
      await page.getByRole('heading', { name: 'What the text would have stopped' }).waitFor()
      await page
        .getByRole('row', { name: /Ask a person broad/ })
        .first()
        .waitFor()
      expect((await stored()).rules.map(({ id }) => id)).toEqual(['mine'])
      await page.getByRole('button', { name: 'Save policy' }).click()
      await page
        .getByRole('row', { name: /^broad Ask a person operations update-app-env-variables/ })
        .waitFor()
      expect((await stored()).rules).toMatchObject([{ id: 'broad', effect: 'ask' }])
    })

    it('shows for each agent what it was allowed, what it requested, its budgets and limits, and revokes it', async () => {
      const { platform } = fixture
      const { accountId, admin } = platform
      const budgets = [
        { id: 'few', of: 'agent', meter: 'writes', window: '1h', soft: 3, hard: 9, onHard: 'deny' } as const,
      ]
      const rules = [
        { id: 'no-stop', effect: 'deny' as const, on: { operations: ['restart-app-env'] } },
        { id: 'ask', effect: 'ask' as const, on: { operations: ['update-app-env-variables'] } },
      ]
      await admin.client.call(updatePolicy, { accountId, mode: 'observe', rules, budgets })
      expect((await write('OBSERVED')).status).toBe(200)
      await admin.client.call(updatePolicy, { accountId, mode: 'enforce' })
      expect((await write('ASKED')).status).toBe(202)
      const page = await fixture.signedIn('/agents')
      const list = page.getByRole('region', { name: 'List: Agents', exact: true })
      const row = list.getByRole('row', { name: /^Deploy bot for/ })
      await row.waitFor()
      const cell = (title: string) => row.locator(`[data-title="${title}"]`)
      expect(Number(await cell('Allowed').textContent())).toBeGreaterThan(0)
      await expect.poll(async () => Number(await cell('Held').textContent())).toBeGreaterThan(0)
      expect(Number(await cell('Would have stopped').textContent())).toBeGreaterThan(0)
      await row.getByRole('link').click()
      await page
        .getByRole('region', { name: 'List of approvals that it requested' })
        .getByText('Waiting')
        .first()
        .waitFor()
      await page.getByRole('meter', { name: /^few of Deploy bot/ }).waitFor()
      await page.getByRole('row', { name: /^bot Everything you may/ }).waitFor()
      const { pathname, search } = new URL(page.url())
      expect(
        await inspectPages(await fixture.signedIn('/'), [
          '/agents',
          (pathname + search).replace('/console', ''),
        ]),
      ).toEqual([])
      await page.getByRole('button', { name: 'Revoke bot' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke token' }).click()
      await page.getByRole('region', { name: 'List of its tokens' }).waitFor({ state: 'detached' })
      expect((await write('REVOKED')).status).toBe(401)
      await admin.client.call(updatePolicy, { accountId, rules: [{ ...rules[0]!, id: 'broad' }] })
    })

    it('shows members the rules, and nothing that they cannot use', async () => {
      const { platform } = fixture
      const member = await platform.makeUser({ accountId: platform.accountId })
      const page = await fixture.signedIn('/policy', { token: member.token })
      await page.getByRole('row', { name: /^broad/ }).waitFor()
      expect(await page.getByRole('main').getByRole('button').count()).toBe(0)
      expect(await page.getByLabel('Policy as text').count()).toBe(0)
    })

    it('is clean for axe in both themes, and fits 320 to 2,560 pixels', async () => {
      const page = await fixture.signedIn('/')
      expect(await inspectPages(page, ['/policy'])).toEqual([])
    })
  },
)
