import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addMember } from '../../src/contract/members.ts'
import { launchBrowser, noBrowser } from '../../testkit/console/fixture.ts'
import { axe } from '../../testkit/console/inspect.ts'
import { Installation } from '../../testkit/platform/installation.ts'

describe.skipIf(noBrowser !== null)(
  `the system page, on a real installation${noBrowser ? ` (skipped: ${noBrowser})` : ''}`,
  { timeout: 180_000 },
  () => {
    const installation = new Installation({ LONGSHORE_ENGINE: 'process' })
    let browser: Browser
    beforeAll(async () => {
      await installation.start()
      browser = await launchBrowser()
    })
    afterAll(async () => {
      await browser?.close()
      await installation.dispose()
    })

    it('shows version, store, regions, queues and operations, and heals when the platform is ready again', async () => {
      const page = await (await browser.newContext()).newPage()
      page.setDefaultTimeout(60_000)
      await page.goto(installation.ready.signInUrl ?? '')
      await page.getByRole('heading', { name: 'Environments', exact: true }).waitFor()
      await page.getByRole('link', { name: 'System' }).click()
      await page.getByText('The platform is ready.').waitFor()
      const facts = (name: string) => page.getByRole('region', { name, exact: true }).innerText()
      await page.getByRole('region', { name: 'Control plane' }).waitFor()
      expect(await facts('Control plane')).toMatch(/Version\s+\d+\.\d+\.\d+\s+Store\s+SQLite/)
      expect(await facts('Queues')).toMatch(/Notifications to deliver\s+0\s+Job runs\s+0/)
      await page.getByRole('row', { name: /local.*process.*Available.*apps, jobs/ }).waitFor()
      await page.getByRole('row', { name: /^List environments \d+ 0 0/ }).waitFor()
      const instances = await facts('Instances')
      expect(instances).toMatch(/\d+\.\d+\.\d+\s+just now\s+just now\s+Control plane since just now\s+local/)
      for (const colorScheme of ['dark', 'light'] as const) {
        await page.emulateMedia({ colorScheme })
        expect(await axe(page), colorScheme).toEqual([])
      }
      const away = JSON.stringify({ error: 'Not ready', details: 'The gateway does not answer.' })
      await page.route('**/readyz', (route) => route.fulfill({ status: 503, body: away }))
      await page.getByText('The gateway does not answer.').waitFor()
      await page.unroute('**/readyz')
      await page.getByText('The platform is ready.').waitFor()
      expect((await page.getByText('fn.localhost', { exact: true }).boundingBox())?.height).toBeLessThan(25)
      await page.setViewportSize({ width: 390, height: 800 })
      // In a narrow window the content of a cell stands beside its title, and a state is as wide as its text.
      const misplaced = await page.locator('.folds td[data-title] > *').evaluateAll((all) =>
        all.flatMap((one) => {
          const [cell, own] = [one.parentElement!.getBoundingClientRect(), one.getBoundingClientRect()]
          const text = document.createRange()
          text.selectNodeContents(one)
          const isStretched = one.matches('.badge') && own.width > text.getBoundingClientRect().width + 30
          return own.left < cell.left + 100 || isStretched ? [one.textContent] : []
        }),
      )
      expect(misplaced).toEqual([])
      await page.setViewportSize({ width: 320, height: 800 })
      await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
    })

    it('does not exist for members who are not operators', async () => {
      const { accountId, api } = installation.ready
      const client = installation.client()
      const { token } = await client.call(addMember, { accountId, email: 'm@example.com', name: 'Member' })
      const link = await fetch(new URL('/console/sign-in-link', api), {
        method: 'POST',
        headers: { authorization: token ?? '' },
      })
      const { signInUrl } = (await link.json()) as { signInUrl: string }
      const page = await (await browser.newContext()).newPage()
      await page.goto(signInUrl)
      await page.getByText('Signed in as Member').waitFor()
      expect(await page.getByRole('link', { name: 'System' }).count()).toBe(0)
      await page.goto(new URL('system', installation.ready.console).href)
      await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    })
  },
)
