import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { getUser, listUserTokens } from '../../src/contract/users.ts'
import { newToken, tokenHash } from '../../src/domain/access/tokens.ts'
import { insertToken } from '../../src/store/repositories/tokens.ts'
import { ConsoleFixture, noBrowser } from '../../testkit/console/fixture.ts'
import { axeInBothThemes } from '../../testkit/console/inspect.ts'
import type { TestUser } from '../../testkit/platform/test-platform.ts'

const dayMs = 86_400_000

describe.skipIf(noBrowser !== null)(
  `tokens in the console${noBrowser ? ` (skipped: ${noBrowser})` : ''}`,
  { timeout: 180_000 },
  () => {
    let fixture: ConsoleFixture
    beforeAll(async () => {
      fixture = await ConsoleFixture.start({ reconciles: false })
    })
    afterAll(() => fixture?.close())
    afterEach(async () => expect(await fixture.endTest()).toEqual([]))

    const tokensOf = async ({ client }: TestUser) => (await client.call(listUserTokens, {})).tokens
    const choose = async (page: Page, name: string, expiry: string) => {
      await page.getByRole('button', { name: 'Create token' }).click()
      await page.getByLabel('Name').fill(name)
      await page.getByLabel('Expires').selectOption(expiry)
    }
    const create = (page: Page) => page.getByRole('button', { name: 'Create', exact: true }).click()
    const inDays = (days: number) => new Date(Date.now() + days * dayMs).toISOString()

    it('creates a token that expires in days or on a date, and shows expiry and last use', async () => {
      const user = await fixture.platform.makeUser()
      // In this zone the day ends some hours after the same day in UTC.
      const page = await fixture.signedIn('/tokens', { token: user.token, timezoneId: 'America/New_York' })
      await choose(page, 'weekly', 'In 7 days')
      const options = await page.getByLabel('Expires').getByRole('option').allInnerTexts()
      expect(options.join()).toBe('Never,In 1 day,In 7 days,In 30 days,In 90 days,On a date…')
      await create(page)
      const token = await page.getByRole('region', { name: 'Token', exact: true }).innerText()
      const weekly = page.getByRole('row', { name: /^weekly/ })
      await weekly.getByText('in 7 days').waitFor()
      const [, made] = await tokensOf(user)
      const lifeDays = (Date.parse(made?.expiresAt ?? '') - Date.parse(made?.createdAt ?? '')) / dayMs
      expect(lifeDays).toBeCloseTo(7, 2)
      await weekly.getByRole('cell', { name: 'Never', exact: true }).waitFor()
      await fixture.platform.client(token).call(getUser, {})
      await page.reload()
      const used = weekly.locator('time').last()
      await expect.poll(() => used.innerText()).toBe('just now')
      expect(await used.getAttribute('title')).toMatch(/\d{4} at \d{1,2}:\d{2}:\d{2}/)

      await choose(page, 'dated', 'On a date…')
      const day = page.getByLabel('Last day')
      expect(await day.getAttribute('min')).toMatch(/^\d{4}-\d{2}-\d{2}$/)
      await day.fill('2040-01-15')
      await create(page)
      await page.getByRole('row', { name: /^dated/ }).waitFor()
      expect((await tokensOf(user))[2]).toMatchObject({
        name: 'dated',
        expiresAt: '2040-01-16T04:59:59.000Z',
      })
    })

    it("shows the platform's message at the field, and keeps what was typed", async () => {
      const user = await fixture.platform.makeUser()
      const { userId } = user
      const token = newToken('user')
      await fixture.platform.db.write((tx) =>
        insertToken(tx, tokenHash(token), { kind: 'user', userId }, fixture.platform.now, {
          expiresAt: inDays(2),
        }),
      )
      const page = await fixture.signedIn('/tokens', { token })
      await choose(page, 'longer', 'In 90 days')
      await create(page)
      const field = page.locator('.field').filter({ has: page.getByLabel('Expires') })
      await field.getByText(/^Must be at most \d{4}-/).waitFor()
      await page.getByLabel('Expires').selectOption('In 1 day')
      expect(await page.getByLabel('Name').inputValue()).toBe('longer')
      await create(page)
      await page.getByRole('row', { name: /^longer/ }).waitFor()
    })

    it('shows an expired token as such; the session of one returns to the sign-in page', async () => {
      const { db, now } = fixture.platform
      const user = await fixture.platform.makeUser()
      const { userId } = user
      const owner = { kind: 'user', userId } as const
      await db.write((tx) =>
        insertToken(tx, tokenHash(newToken('user')), owner, now, { name: 'old', expiresAt: inDays(-3) }),
      )
      const page = await fixture.signedIn('/tokens', { token: user.token })
      const old = page.getByRole('row', { name: /^old/ })
      expect(await old.innerText()).toMatch(/Expired\s+3 days ago\s+Never/)
      await old.getByRole('button', { name: 'Revoke old' }).waitFor()
      await db.write((tx) =>
        tx
          .updateTable('tokens')
          .set({ expires_at: inDays(-1) })
          .where('user_id', '=', userId)
          .execute(),
      )
      await page.getByRole('link', { name: 'Activity' }).click()
      await page.waitForURL(/sign-in/)
    })

    it('is accessible in both themes, with the dialog open and at 320 px', async () => {
      const page = await fixture.signedIn('/tokens')
      await page.getByText('This session').waitFor()
      expect(await axeInBothThemes(page)).toEqual([])
      await choose(page, 'dated', 'On a date…')
      expect(await axeInBothThemes(page)).toEqual([])
      await page.setViewportSize({ width: 320, height: 800 })
      await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
    })
  },
)
