import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ConsoleBed, noBrowser } from '../../testkit/console/bed.ts'

describe.skipIf(noBrowser !== null)(
  `a link of request-secret${noBrowser ? ` (skipped: ${noBrowser})` : ''}`,
  { timeout: 180_000 },
  () => {
    let bed: ConsoleBed
    beforeAll(async () => {
      bed = await ConsoleBed.start()
    })
    afterAll(() => bed?.close())

    async function requested() {
      const { token } = bed.platform.admin
      const { appEnvId } = await bed.platform.makeEnvironment()
      const input = { appEnvId, variable: 'STRIPE_KEY' }
      const { json } = await bed.platform.request('POST', '/app-env/secret-request', { token, input })
      const value = async () => {
        const read = { token, input: { appEnvId, decrypt: true } }
        return (await bed.platform.request('GET', '/app-env', read)).json.envVars[0]?.value
      }
      return { url: json.url as string, value }
    }

    it('takes the value from the form that the browser sends', async () => {
      const { url, value } = await requested()
      const page = await bed.page(await bed.context())
      await page.goto(url)
      await page.getByLabel('Value').fill('sk_live_1\nline 2')
      const answered = page.waitForResponse(url)
      await page.getByRole('button', { name: 'Save' }).click()
      expect((await answered).status()).toBe(200)
      await page.getByRole('status').waitFor()
      expect(await value()).toBe('sk_live_1\nline 2')
      expect(bed.complaints.splice(0)).toEqual([])
    })

    it('refuses a form that a page of another origin sends', async () => {
      const { url, value } = await requested()
      const page = await bed.page(await bed.context())
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
