import { statSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { builtConsole, ConsoleFixture, noBrowser } from '../../testkit/console/fixture.ts'
import { fillAccount, msToInteractive, onOneCore, scrollFrames } from '../../testkit/console/measure.ts'
import { median } from '../../testkit/figures.ts'

const budgetBytes = 180 * 1024
const environments = 5_000
/** The goal is 1 s, which `npm run bench -- console` measures; the same machine takes twice as long at times. */
const interactiveMs = 2_500
const frameMs = 1_000 / 50
/** Other work on the machine only adds time, so the best of a few is the measure. */
const mostTries = 5

describe.skipIf(noBrowser !== null)(
  `budgets of the console${noBrowser ? ` (skipped: ${noBrowser})` : ''}`,
  { timeout: 180_000 },
  () => {
    let fixture: ConsoleFixture
    beforeAll(async () => {
      fixture = await ConsoleFixture.start({ reconciles: false })
      await fillAccount(fixture, environments)
    })
    afterAll(() => fixture?.close())

    it('sends at most 180 kB of compressed script for the first page, and later pages only when opened', async () => {
      const page = await fixture.signedIn('/')
      const scripts: string[] = []
      page.on('request', (request) => {
        if (request.resourceType() === 'script') scripts.push(path.basename(new URL(request.url()).pathname))
      })
      await page.reload()
      await page.locator('tbody a').first().waitFor()
      const bytes = scripts.reduce(
        (sum, name) => sum + statSync(path.join(builtConsole, 'assets', `${name}.br`)).size,
        0,
      )
      expect(scripts.length).toBeGreaterThan(1)
      expect(bytes).toBeLessThanOrEqual(budgetBytes)
      expect(scripts.filter((name) => /^(Traffic|Summary|Logs|Variables)/.test(name))).toEqual([])
    })

    it('scrolls and searches 5,000 environments with a few dozen rows on the page', async () => {
      const page = await fixture.signedIn('/')
      await page.getByText('5,000 stopped').waitFor()
      expect(await page.getByRole('table').getAttribute('aria-rowcount')).toBe(String(environments + 1))
      const rows = page.locator('tbody tr')
      expect(await rows.count()).toBeLessThan(60)
      await page.getByLabel('List of environments').evaluate((list) => list.scrollTo(0, list.scrollHeight))
      await page.locator(`tr[aria-rowindex="${environments + 1}"] a`).waitFor()
      expect(await rows.count()).toBeLessThan(60)
      await page.getByLabel('Search environments').fill('copy-4321')
      await page.getByText('1 of 5,000 environments').waitFor()
      await page.getByRole('link', { name: /copy-4321$/ }).waitFor()
    })

    it('is interactive soon after sign-in', async () => {
      const took: number[] = []
      while (took.length < mostTries && !took.some((ms) => ms < interactiveMs)) {
        took.push(await onOneCore(() => msToInteractive(fixture)))
      }
      expect(Math.min(...took), `${took.map(Math.round).join(' ms, ')} ms`).toBeLessThan(interactiveMs)
    })

    it('scrolls 5,000 environments at 50 frames a second, and reads only those where it stops', async () => {
      const page = await fixture.signedIn('/')
      await page.getByText('5,000 stopped').waitFor()
      let reads = 0
      page.on('request', (request) => {
        if (request.url().includes('/metrics-series')) reads += 1
      })
      const frames: number[] = []
      while (frames.length < mostTries && !frames.some((ms) => ms <= frameMs)) {
        reads = 0
        frames.push(await onOneCore(async () => median(await scrollFrames(page))))
      }
      // Two for each row on the page; hundreds went by.
      await expect.poll(() => reads).toBeGreaterThan(0)
      expect(reads).toBeLessThan(150)
      expect(
        await page.getByLabel('List of environments').evaluate((list) => list.scrollTop),
      ).toBeGreaterThan(6_000)
      expect(Math.min(...frames), `${frames.map(Math.round).join(' ms, ')} ms`).toBeLessThanOrEqual(frameMs)
    })
  },
)
