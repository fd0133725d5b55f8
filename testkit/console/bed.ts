import { existsSync, rmSync } from 'node:fs'
import path from 'node:path'
import AxeSource from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
// @ts-expect-error the build is plain JavaScript
import { buildConsole } from '../../build-console.mjs'
import type { TestPlatformOptions } from '../platform/options.ts'
import { TestPlatform } from '../platform/test-platform.ts'

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const executablePath = places.find((place) => existsSync(place))

/** Why the browser tests cannot run here; null when they can. */
export const noBrowser = executablePath ? null : `no Chromium at ${places.join(', ')}`

export function launchBrowser(): Promise<Browser> {
  // Chromium's sandbox cannot start as root.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  return chromium.launch({ executablePath: executablePath!, args })
}

interface BuildOutput {
  outputs: Record<string, { entryPoint?: string; imports: { path: string; kind: string }[] }>
}

/** The console as built, on a control plane in this process, in a real browser. */
export class ConsoleBed {
  readonly platform: TestPlatform
  readonly dir: string
  readonly build: BuildOutput
  readonly #browser: Browser
  /** Problems reported by pages: script errors, blocked content, failed assets. Tests expect none. */
  readonly complaints: string[] = []
  /** Problems that a test causes on purpose. */
  tolerated: RegExp | null = null

  private constructor(platform: TestPlatform, dir: string, build: BuildOutput, browser: Browser) {
    this.platform = platform
    this.dir = dir
    this.build = build
    this.#browser = browser
  }

  static async start(options: TestPlatformOptions = {}): Promise<ConsoleBed> {
    // Inside the project, because the build resolves packages from there.
    const dir = path.resolve('node_modules/.cache', `console-${process.pid}-${Date.now()}`)
    const build: BuildOutput = await buildConsole(dir)
    const platform = await TestPlatform.start({ ...options, consoleDir: path.join(dir, 'console') })
    return new ConsoleBed(platform, dir, build, await launchBrowser())
  }

  async close(): Promise<void> {
    await this.#browser.close()
    await this.platform.close()
    rmSync(this.dir, { recursive: true, force: true })
  }

  address(pathname: string): string {
    return `${this.platform.apiUrl}/console${pathname}`
  }

  /** A separate browser context without a session. */
  async context(options: Parameters<Browser['newContext']>[0] = {}): Promise<BrowserContext> {
    const context = await this.#browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
    context.setDefaultTimeout(10_000)
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
    const { code } = await this.platform.sessions.createLink(token)
    await page.goto(`${this.address('/sign-in')}?next=${encodeURIComponent(`/console${pathname}`)}#${code}`)
    await page.waitForURL(this.address(pathname))
    return page
  }
}

/** Violations of WCAG A and AA rules on the page as it stands, one line each. */
export async function axe(page: Page): Promise<string[]> {
  // Through the debugger, so that the page's own policy needs no exception for the test.
  await page.evaluate(AxeSource.source)
  const { violations } = await page.evaluate(() =>
    // @ts-expect-error put there by the line above
    globalThis.axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] }),
  )
  return violations.flatMap(
    ({ id, nodes }: { id: string; nodes: { html: string; failureSummary: string }[] }) =>
      nodes.map((node) => `${id}: ${node.html.slice(0, 200)} ${node.failureSummary.slice(0, 300)}`),
  )
}
