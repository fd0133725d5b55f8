import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { updateAppEnvVariables } from '../../src/contract/app-env-actions.ts'
import { ConsoleFixture, noBrowser } from '../../testkit/console/fixture.ts'
import { follow } from '../../testkit/console/inspect.ts'
import type { TestUser } from '../../testkit/platform/test-platform.ts'

const names = ['harbor', 'lagoon', 'quay']

const pathOf = (address: string) => address.replace(/\?.*/, '')

/** Every linked page with its content, after its reads have completed. */
async function crawl(
  fixture: ConsoleFixture,
  page: Page,
  from: readonly string[],
): Promise<Map<string, string>> {
  const seen = new Map<string, string>()
  const waiting = [...from]
  let at = '/'
  while (waiting.length > 0) {
    const address = waiting.shift()!
    if (seen.has(address)) continue
    // `follow` needs another pathname; some addresses differ in their filters only.
    if (pathOf(address) === pathOf(at)) await follow(page, pathOf(at) === '/tokens' ? '/' : '/tokens')
    await follow(page, address)
    at = address
    seen.set(address, await page.locator('body').innerHTML())
    const found = await page
      .locator('a[href^="/console"]')
      .evaluateAll((links) => links.map((one) => one.getAttribute('href')))
    for (const href of found) {
      const { pathname, searchParams } = new URL(href!, fixture.platform.apiUrl)
      // Everybody here has one account, so the address without it shows the same.
      searchParams.delete('account')
      const search = searchParams.size > 0 ? `?${searchParams}` : ''
      waiting.push(pathname.replace(/^\/console/, '') + search)
    }
  }
  return seen
}

describe.skipIf(noBrowser !== null)(
  `what each member sees, on every address${noBrowser ? ` (skipped: ${noBrowser})` : ''}`,
  { timeout: 180_000 },
  () => {
    let fixture: ConsoleFixture
    let accountId = ''
    let everything: string[] = []
    const members: { who: string; user: TestUser; sees: string[] }[] = []
    beforeAll(async () => {
      fixture = await ConsoleFixture.start({ reconciles: false })
      const { platform } = fixture
      accountId = await platform.makeAccount('guarded', { memberEnvAccessEnabled: true })
      const owner = await platform.makeUser({ accountId, admin: true })
      const ids: string[] = []
      for (const name of names) {
        // One of them is a job, which has pages of its own.
        const app = { name: `${name} app`, ...(name === 'quay' ? { dockerPreset: 'JOB' as const } : {}) }
        const environment = { cliEnvName: `${name}-env`, name: `${name} live` }
        const made = await platform.makeEnvironment({ accountId, by: owner.client, app, environment })
        ids.push(made.appEnvId)
        const set = [{ name: `${name.toUpperCase()}_KEY`, value: `${name} value`, isSecret: false }]
        await owner.client.call(updateAppEnvVariables, { appEnvId: made.appEnvId, set })
      }
      const add = async (who: string, sees: number[], more: object = {}) => {
        const allowedAppEnvIds = sees.length === names.length ? [] : sees.map((index) => ids[index]!)
        const user = await platform.makeUser({ accountId, allowedAppEnvIds, ...more })
        members.push({ who, user, sees: sees.map((index) => names[index]!) })
      }
      await add('member of one', [0])
      await add('member of two', [1, 2])
      await add('member with full access', [0, 1, 2])
      // All pages that an admin can reach by links.
      const page = await fixture.signedIn('/', { token: owner.token })
      everything = [...(await crawl(fixture, page, ['/'])).keys()]
      await page.context().close()
    })
    afterAll(() => fixture?.close())

    it('leads an admin to pages of every environment', () => {
      for (const name of names) {
        expect(
          everything.filter((address) => address.startsWith(`/environments/${name}-env`)).length,
        ).toBeGreaterThan(4)
      }
      expect(everything).toEqual(
        expect.arrayContaining([
          ...['/members', '/tokens', '/settings', '/agents'],
          ...['/environments/quay-env/runs', '/environments/quay-env/job-settings'],
        ]),
      )
    })

    it('M1, M2, M7: no address shows a member anything of an environment that they may not see', async () => {
      const visit = async ({ who, user, sees }: (typeof members)[number]) => {
        const page = await fixture.signedIn('/', { token: user.token })
        const withAccount = [`/?account=${accountId}`, `/environments/harbor-env?account=${accountId}`]
        // Only operators have a link to the system page.
        const pages = await crawl(fixture, page, [...everything, '/system', ...withAccount])
        for (const name of names.filter((one) => !sees.includes(one))) {
          for (const [address, html] of pages) {
            expect(html.toLowerCase().includes(name), `${who} at ${address}: ${name}`).toBe(false)
          }
        }
        for (const name of sees) expect(pages.get('/'), `${who}: ${name}`).toContain(name)
        await page.context().close()
      }
      await Promise.all(members.map(visit))
    })
  },
)
