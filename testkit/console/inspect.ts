import AxeSource from 'axe-core'
import type { Frame, Page } from 'playwright-core'

const widths = [320, 768, 2560]

/**
 * Follows an address as a link of the console does, so without loading its scripts again, and waits until the page has
 * read what it shows. `page` is at another pathname of the console.
 */
export async function follow(page: Page, pathname: string): Promise<void> {
  await page.evaluate((to) => {
    ;(document.activeElement as HTMLElement | null)?.blur()
    history.pushState(null, '', to)
  }, `/console${pathname}`)
  // The console gives the content the focus when it shows another page.
  await page.locator('main:focus').waitFor()
  await page.getByText('Loading', { exact: true }).first().waitFor({ state: 'detached' })
}

/**
 * Problems of pages of the console, one line each: violations in both themes, and content wider than a window of
 * 320 to 2,560 pixels. `page` is at another pathname than the first.
 */
export async function inspectPages(page: Page, pathnames: readonly string[]): Promise<string[]> {
  const wrong: string[] = []
  for (const pathname of pathnames) {
    await follow(page, pathname)
    await page.locator('main h1').first().waitFor()
    wrong.push(...(await axeInBothThemes(page)).map((line) => `${pathname}: ${line}`))
    const before = page.viewportSize()
    for (const width of widths) {
      await page.setViewportSize({ width, height: 800 })
      const wide = await page.evaluate(() => document.documentElement.scrollWidth)
      if (wide > width) wrong.push(`${pathname}: ${wide} pixels wide in a window of ${width}`)
    }
    if (before) await page.setViewportSize(before)
  }
  return wrong
}

const wcag = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']

/** Violations on the page in the light theme, and in the dark one of what a theme decides: the contrast of colors. */
export async function axeInBothThemes(page: Page): Promise<string[]> {
  const light = await axe(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  const dark = await axe(page, ['color-contrast'])
  await page.emulateMedia({ colorScheme: 'light' })
  return [...light, ...dark.map((line) => `dark: ${line}`)]
}

/** Violations of WCAG A and AA rules on the page as it stands, one line each. */
export async function axe(page: Page | Frame, runOnly: readonly string[] = wcag): Promise<string[]> {
  // Through the debugger, so that the page's own policy needs no exception for the test.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AxeSource.source)
  const { violations } = await page.evaluate(
    // @ts-expect-error put there by the line above
    (only) => globalThis.axe.run({ runOnly: only, resultTypes: ['violations'], preload: false }),
    runOnly,
  )
  return violations.flatMap(
    ({ id, nodes }: { id: string; nodes: { html: string; failureSummary: string }[] }) =>
      nodes.map((node) => `${id}: ${node.html.slice(0, 200)} ${node.failureSummary.slice(0, 300)}`),
  )
}
