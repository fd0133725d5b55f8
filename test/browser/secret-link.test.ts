import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ConsoleFixture, noBrowser } from '../../testkit/console/fixture.ts'

describe.skipIf(noBrowser !== null)(
  `a link of request-secret${noBrowser ? ` (skipped: ${noBrowser})` : ''}`,
  { timeout: 180_000 },
  () => {
    let fixture: ConsoleFixture
    beforeAll(async () => {
      fixture = await ConsoleFixture.start()
    })
    afterAll(() => fixture?.close())

    async function requested() {
      const { token } = fixture.platform.admin
      const { appEnvId } = await fixture.platform.makeEnvironment()
      const input = { appEnvId, variable: 'STRIPE_KEY' }
      const { json } = await fixture.platform.request('POST', '/app-env/secret-request', { token, input })
      const value = async () => {
        const read = { token, input: { appEnvId, decrypt: true } }
        return (await fixture.platform.request('GET', '/app-env', read)).json.envVars[0]?.value
      }
      return { url: json.url as string, value }
    }

    it('takes the value from the form that the browser sends', async () => {
      const { url, value } = await requested()
      const page = await fixture.page(await fixture.context())
      await page.goto(url)
      await page.getByLabel('Value').fill('sk_live_1\nline 2')
      const answered = page.waitForResponse(url)
      await page.getByRole('button', { name: 'Save' }).click()
      expect((await answered).status()).toBe(200)
      await page.getByRole('status').waitFor()
      expect(await value()).toBe('sk_live_1\nline 2')
      expect(fixture.complaints.splice(0)).toEqual([])
    })

    it('refuses a form that a page of another origin sends', async () => {
      const { url, value } = await requested()
      const page = await fixture.page(await fixture.context())
      await page.setContent(
        `<form method="post" action="${url}"><input name="value" value="forged"><button>Go</button></form>`,
      )
      const answered = page.waitForResponse(url)
      await page.getByRole('button', { name: 'Go' }).click()
      expect((await answered).status()).toBe(403)
      expect(await value()).toBeUndefined()
    })
  },
)
