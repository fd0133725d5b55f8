import type { Page, Request } from 'playwright-core'

/** Requests and reports of a page, for the message of a wait that timed out. */
export class PageLog {
  readonly #page: Page
  readonly #lines: string[] = []
  readonly #pending = new Set<Request>()

  constructor(page: Page) {
    this.#page = page
    page.on('request', (request) => this.#pending.add(request))
    page.on('requestfinished', async (request) => {
      this.#pending.delete(request)
      const answer = await request.response().catch(() => null)
      this.#note(`${answer?.status()} ${nameOf(request)}`)
    })
    page.on('requestfailed', (request) => {
      this.#pending.delete(request)
      this.#note(`${request.failure()?.errorText} ${nameOf(request)}`)
    })
    page.on('console', (message) => this.#note(`${message.type()}: ${message.text()}`))
    page.on('pageerror', (error) => this.#note(`error: ${error.stack}`))
    page.on('framenavigated', (frame) => this.#note(`at ${withoutCode(frame.url())}`))
  }

  #note(line: string): void {
    this.#lines.push(line)
    if (this.#lines.length > 60) this.#lines.shift()
  }

  /** Rejects as `wait` does, with the state of the page. */
  async explain<T>(wait: Promise<T>): Promise<T> {
    try {
      return await wait
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${await this.#state()}`, { cause: error })
    }
  }

  async #state(): Promise<string> {
    const text = await this.#page
      .locator('body')
      .innerText({ timeout: 1_000 })
      .catch((error: Error) => error.message)
    return [
      `The page is at ${withoutCode(this.#page.url())} and shows:`,
      text.slice(0, 500),
      `Unanswered: ${[...this.#pending].map(nameOf).join(', ') || 'nothing'}`,
      'Before, oldest first:',
      ...this.#lines,
    ].join('\n')
  }
}

const nameOf = (request: Request) => `${request.method()} ${withoutCode(request.url())}`
const withoutCode = (url: string) => url.replace(/#.*/, '#…')
