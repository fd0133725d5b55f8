import { existsSync } from 'node:fs'
import path from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { chromiumArgs, chromiumPath, noBrowser } from '../chromium.mjs'
import type { TestPlatformOptions } from '../platform/options.ts'
import { TestPlatform } from '../platform/test-platform.ts'
import { PageLog } from './page-log.ts'

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath!, args: chromiumArgs })
}

let running: Promise<Browser> | null = null

/** One browser for all test files of a worker, which ends with the worker. */
async function sharedBrowser(): Promise<Browser> {
  if (!(await running?.catch(() => null))?.isConnected()) running = launchBrowser()
  return await running!
}

export { noBrowser }

/** Made by `npm run build`. */
export const builtConsole = path.resolve('dist/console')

/** The console as built, on a control plane in this process, in a real browser. */
export class ConsoleFixture {
  readonly platform: TestPlatform
  readonly #browser: Browser
  readonly #contexts = new Set<BrowserContext>()
  /** Problems reported by pages: script errors, blocked content, failed assets. Tests expect none. */
  readonly complaints: string[] = []
  /** Problems that a test causes on purpose. */
  tolerated: RegExp | null = null

  private constructor(platform: TestPlatform, browser: Browser) {
    this.platform = platform
    this.#browser = browser
  }

  /** Closes no browser: without one of its own it has that of the worker. */
  static async start(options: TestPlatformOptions = {}, browser?: Browser): Promise<ConsoleFixture> {
    if (!existsSync(builtConsole)) throw new Error('There is no console: run `npm run build` first.')
    const platform = await TestPlatform.start({ ...options, consoleDir: builtConsole })
    return new ConsoleFixture(platform, browser ?? (await sharedBrowser()))
  }

  async close(): Promise<void> {
    await this.#closeContexts()
    await this.platform.close()
  }

  /** Closes the pages of a test, which would go on reading, and returns the problems that they reported. */
  async endTest(): Promise<string[]> {
    await this.#closeContexts()
    return this.complaints.splice(0)
  }

  async #closeContexts(): Promise<void> {
    await Promise.all([...this.#contexts].map((context) => context.close()))
    this.#contexts.clear()
  }

  address(pathname: string): string {
    return `${this.platform.apiUrl}/console${pathname}`
  }

  /** A separate browser context without a session. */
  async context(options: Parameters<Browser['newContext']>[0] = {}): Promise<BrowserContext> {
    const context = await this.#browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
    context.setDefaultTimeout(60_000)
    this.#contexts.add(context)
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
    const pageLog = new PageLog(page)
    const { code } = await this.platform.sessions.createLink(token)
    await page.goto(`${this.address('/sign-in')}?next=${encodeURIComponent(`/console${pathname}`)}#${code}`)
    await pageLog.explain(page.waitForURL(this.address(pathname)))
    return page
  }
}
