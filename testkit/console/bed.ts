import { existsSync } from 'node:fs'
import path from 'node:path'
import AxeSource from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Frame, type Page } from 'playwright-core'
import type { TestPlatformOptions } from '../platform/options.ts'
import { TestPlatform } from '../platform/test-platform.ts'
import { Trail } from './trail.ts'

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const executablePath = places.find((place) => existsSync(place))

/** Why the browser tests cannot run here; null when they can. */
export const noBrowser = executablePath ? null : `no Chromium at ${places.join(', ')}`

export function launchBrowser(): Promise<Browser> {
  // Chromium's sandbox cannot start as root.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  return chromium.launch({ executablePath: executablePath!, args })
}

/** Made by `npm run build`. */
export const builtConsole = path.resolve('dist/console')

/** The console as built, on a control plane in this process, in a real browser. */
export class ConsoleBed {
  readonly platform: TestPlatform
  readonly #browser: Browser
  /** Problems reported by pages: script errors, blocked content, failed assets. Tests expect none. */
  readonly complaints: string[] = []
  /** Problems that a test causes on purpose. */
  tolerated: RegExp | null = null

  private constructor(platform: TestPlatform, browser: Browser) {
    this.platform = platform
    this.#browser = browser
  }

  static async start(options: TestPlatformOptions = {}): Promise<ConsoleBed> {
    if (!existsSync(builtConsole)) throw new Error('There is no console: run `npm run build` first.')
    const platform = await TestPlatform.start({ ...options, consoleDir: builtConsole })
    return new ConsoleBed(platform, await launchBrowser())
  }

  async close(): Promise<void> {
    await this.#browser.close()
    await this.platform.close()
  }

  address(pathname: string): string {
    return `${this.platform.apiUrl}/console${pathname}`
  }

  /** A separate browser context without a session. */
  async context(options: Parameters<Browser['newContext']>[0] = {}): Promise<BrowserContext> {
    const context = await this.#browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
    context.setDefaultTimeout(60_000)
    return context
  }

  async page(context: BrowserContext): Promise<Page> {
    const page = await context.newPage()
    page.on('pageerror', (error) => this.complaints.push(`error: ${error.message}`))
    page.on('console', (message) => {
      const text = message.text()
      if (this.tolerated?.test(text)) return
      // The browser itself reports refused API calls; pages show them.
      if (message.type() === 'error' && !text.startsWith('Failed to load resource'))
        this.complaints.push(text)
    })
    return page
  }

  /** A page signed in through a one-time link, at `pathname`. */
  async signedIn(
    pathname = '/',
    {
      token = this.platform.admin.token,
      ...options
    }: { token?: string } & Parameters<Browser['newContext']>[0] = {},
  ): Promise<Page> {
    const page = await this.page(await this.context(options))
    const trail = new Trail(page)
    const { code } = await this.platform.sessions.createLink(token)
    await page.goto(`${this.address('/sign-in')}?next=${encodeURIComponent(`/console${pathname}`)}#${code}`)
    await trail.explain(page.waitForURL(this.address(pathname)))
    return page
  }
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
  await page.evaluate(AxeSource.source)
  const { violations } = await page.evaluate(
    // @ts-expect-error put there by the line above
    (only) => globalThis.axe.run({ runOnly: only }),
    runOnly,
  )
  return violations.flatMap(
    ({ id, nodes }: { id: string; nodes: { html: string; failureSummary: string }[] }) =>
      nodes.map((node) => `${id}: ${node.html.slice(0, 200)} ${node.failureSummary.slice(0, 300)}`),
  )
}
