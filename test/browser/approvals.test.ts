import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { listAccounts } from '../../src/contract/accounts.ts'
import { getAppEnv } from '../../src/contract/app-envs.ts'
import { getApproval } from '../../src/contract/approvals.ts'
import { updatePolicy } from '../../src/contract/policy.ts'
import { ConsoleFixture, noBrowser } from '../../testkit/console/fixture.ts'
import { inspectPages } from '../../testkit/console/inspect.ts'

const envName = 'shop-live'

describe.skipIf(noBrowser !== null)(
  `approvals of the console in a browser${noBrowser ? ` (skipped: ${noBrowser})` : ''}`,
  { timeout: 180_000 },
  () => {
    let fixture: ConsoleFixture
    let appEnvId = ''
    let agent = ''
    const call: typeof fixture.platform.admin.client.call = (...args) =>
      fixture.platform.admin.client.call(...args)
    const names = async () => (await call(getAppEnv, { appEnvId })).envVars.map(({ name }) => name)
    const write = (token: string, name: string, value = 'x') =>
      fixture.platform.request('PATCH', '/app-env/variables', {
        token,
        input: { appEnvId, set: [{ name, value, isSecret: false }] },
      })
    /** A write of the agent, which a rule asks about. */
    const held = async (name: string): Promise<string> => {
      const answer = await write(agent, name)
      expect(answer.status, answer.text).toBe(202)
      return answer.json.approvalId
    }
    const statusOf = async (approvalId: string) => (await call(getApproval, { approvalId })).status
    const navLink = (page: Page) => page.getByRole('navigation').getByRole('link', { name: /^Approvals/ })

    beforeAll(async () => {
      fixture = await ConsoleFixture.start({ reconciles: false })
      const { platform } = fixture
      const app = { name: 'shop', useImage: true }
      ;({ appEnvId } = await platform.makeEnvironment({ app, environment: { cliEnvName: envName } }))
      const made = await platform.request('POST', '/user/tokens', {
        token: platform.admin.token,
        input: { name: 'bot', kind: 'agent', label: 'Deploy bot' },
      })
      agent = made.json.token
      const rules = [{ id: 'agents-propose', effect: 'ask' as const, who: { kinds: ['agent' as const] } }]
      await call(updatePolicy, { accountId: platform.accountId, mode: 'enforce', rules })
    })
    afterAll(() => fixture?.close())
    afterEach(async () => expect(await fixture.endTest()).toEqual([]))

    it('needs-approval: shows what waits on every page, its changes, and runs it on a click', async () => {
      const page = await fixture.signedIn('/')
      expect(await navLink(page).textContent()).toBe('Approvals')
      const approvalId = await held('LOG_LEVEL')
      await page.getByRole('link', { name: 'Approvals 1 waiting' }).click()
      const row = page.getByRole('region', { name: 'List of approvals that wait' }).getByRole('row').nth(1)
      await row.getByText('Deploy bot for').waitFor()
      await row.getByText(`Change variables ${envName}`).waitFor()
      expect(await row.getByRole('time').first().textContent()).toMatch(/^23 h 59 min$/)
      await row.getByRole('link').click()
      await page.waitForURL(new RegExp(approvalId))
      await page.getByRole('row', { name: 'Variable LOG_LEVEL none x' }).waitFor()
      const impact = page.getByRole('list', { name: 'Impact' })
      for (const words of ['No container ends', 'No data is lost', 'No downtime', 'Can be undone'])
        await impact.getByText(words, { exact: true }).waitFor()
      expect(await names()).toEqual([])

      await page.getByLabel('Comment').fill('Fine for me.')
      await page.getByRole('button', { name: 'Approve' }).press('Enter')
      await page.getByText('Done', { exact: true }).first().waitFor()
      expect(await names()).toEqual(['LOG_LEVEL'])
      await page.getByRole('list', { name: 'Decisions so far' }).getByText('Fine for me.').waitFor()
      await page.getByRole('link', { name: /^In the activity/ }).click()
      await page.getByText('Only the steps of one approval.').waitFor()
      await page.locator('li.entry').getByText('Change variables', { exact: true }).first().waitFor()
      await page.goBack()
      await page.getByRole('button', { name: /^Undo/ }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Undo' }).click()
      await expect.poll(names).toEqual([])
      await expect.poll(() => navLink(page).textContent()).toBe('Approvals')
    })

    it('denies with a comment, and lists it with the earlier ones', async () => {
      const approvalId = await held('DENIED')
      const page = await fixture.signedIn(`/approvals/${approvalId}`)
      await page.getByLabel('Comment').fill('Use the staging one.')
      await page.getByRole('button', { name: 'Deny' }).click()
      await page.getByText('Nothing was changed.').waitFor()
      expect(await statusOf(approvalId)).toBe('denied')
      await page.goto(fixture.address('/approvals?status=denied'))
      await page.getByRole('region', { name: 'List of earlier approvals' }).getByText('Denied').waitFor()
      expect(await names()).toEqual([])
    })

    it('names what changed since, refuses the old view, and shows a new one on Refresh', async () => {
      const approvalId = await held('LATE')
      const page = await fixture.signedIn(`/approvals/${approvalId}`)
      const approve = page.getByRole('button', { name: 'Approve' })
      await approve.waitFor()
      // The page keeps what it shows, as if the change came just before the click.
      let isFrozen = true
      await page.route('**/approval?*', (route) => (isFrozen ? undefined : route.continue()))
      await write(fixture.platform.admin.token, 'OTHER')
      const refused = page.waitForResponse((answer) => answer.url().endsWith('/approval/decide'))
      await approve.click()
      expect((await refused).status()).toBe(409)
      isFrozen = false
      await page.reload()
      await page.getByText(`Changed since this was shown: environment ${envName}`).waitFor()
      expect(await approve.count()).toBe(0)
      await page.getByRole('button', { name: 'Refresh' }).click()
      await page.waitForURL((url) => !url.pathname.endsWith(approvalId))
      await page.getByRole('row', { name: 'Variable LATE none x' }).waitFor()
      await approve.click()
      await expect.poll(names).toEqual(['OTHER', 'LATE'])
      await page.goto(fixture.address(`/approvals/${approvalId}`))
      await page.getByRole('button', { name: 'Open the newer one' }).waitFor()
    })

    it('keeps the requester from approving where the rule wants another person', async () => {
      const { platform } = fixture
      const rules = [
        {
          ...{ id: 'four-eyes', effect: 'ask' as const },
          on: { operations: ['update-app-env-variables'] },
          approvers: { count: 1, notRequester: true, needs: 'admin' as const },
        },
      ]
      const other = await platform.makeUser({ admin: true })
      await call(updatePolicy, { accountId: platform.accountId, rules })
      const page = await fixture.signedIn(`/environments/${envName}/variables`)
      await page.getByRole('button', { name: 'Add variable' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name', { exact: true }).fill('FOUR')
      await dialog.getByLabel('Value', { exact: true }).fill('eyes')
      await dialog.locator('button[type=submit]').click()
      await dialog.getByText('A person has to approve this').waitFor()
      await dialog.getByRole('link', { name: 'Open the approval' }).click()
      await page.getByText('You requested this, so another person has to approve it.').waitFor()
      expect(await page.getByRole('button', { name: 'Approve' }).isDisabled()).toBe(true)
      await page.getByText('1 person with admin permission, not the requester').waitFor()
      const address = new URL(page.url()).pathname.replace('/console', '')
      const second = await fixture.signedIn(address, { token: other.token })
      await second.getByRole('button', { name: 'Approve' }).click()
      await second.getByText('Done', { exact: true }).first().waitFor()
      expect(await names()).toContain('FOUR')
      const back = [{ id: 'agents-propose', effect: 'ask' as const, who: { kinds: ['agent' as const] } }]
      await call(updatePolicy, { accountId: platform.accountId, mode: 'observe', rules: back })
      await call(updatePolicy, { accountId: platform.accountId, mode: 'enforce' })
    })

    it('stops the agents of the account from any page, and shows it on every page', async () => {
      const { platform } = fixture
      const approvalId = await held('PAUSED')
      const page = await fixture.signedIn('/alerts')
      const member = await platform.makeUser({ accountId: platform.accountId })
      const reader = await fixture.signedIn('/alerts', { token: member.token })
      const pauses = page.getByRole('switch', { name: 'Pause agents' })
      expect(await pauses.getAttribute('aria-checked')).toBe('false')
      await pauses.click()
      await page.getByRole('dialog').getByRole('button', { name: 'Pause agents' }).click()
      const banner = page.getByRole('region', { name: 'Agents are paused' })
      await banner.waitFor()
      expect(await pauses.getAttribute('aria-checked')).toBe('true')
      expect((await write(agent, 'NOW')).json).toMatchObject({ error: 'Agents are paused' })
      await reader.getByRole('region', { name: 'Agents are paused' }).waitFor()
      expect(await reader.getByText(/(Pause|Resume) agents/).count()).toBe(0)
      await page.goto(fixture.address(`/approvals/${approvalId}`))
      await page.getByRole('button', { name: 'Approve' }).click()
      await page.getByRole('alert').getByText('Agents are paused').waitFor()
      expect(await statusOf(approvalId)).toBe('pending')
      await banner.getByRole('button', { name: 'Resume agents' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Resume agents' }).click()
      await banner.waitFor({ state: 'detached' })
      expect((await call(listAccounts, {})).accounts[0]?.settings.agentsPaused).toBe(false)
    })

    it('is clean for axe in both themes, and fits 320 to 2,560 pixels', async () => {
      const approvalId = await held('AXE')
      const page = await fixture.signedIn('/')
      expect(await inspectPages(page, ['/approvals', `/approvals/${approvalId}`])).toEqual([])
    })
  },
)
