import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ConsoleBed, noBrowser } from '../../testkit/console/bed.ts'

describe.skipIf(noBrowser !== null)(
  `the page of a requested secret${noBrowser ? ` (skipped: ${noBrowser})` : ''}`,
  { timeout: 120_000 },
  () => {
    let bed: ConsoleBed
    beforeAll(async () => {
      bed = await ConsoleBed.start({ reconciles: false })
    })
    afterAll(() => bed?.close())

    it('saves the value that a person enters, in a browser without a session', async () => {
      const { platform } = bed
      const { token } = platform.admin
      const { appEnvId } = await platform.makeEnvironment()
      const input = { appEnvId, variable: 'STRIPE_KEY' }
      const { json } = await platform.request('POST', '/app-env/secret-request', { token, input })
      const page = await bed.page(await bed.context())
      await page.goto(json.url as string)
      await page.getByLabel('Value').fill('sk_live_entered')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('heading', { name: 'Saved' }).waitFor()
      const read = await platform.request('GET', '/app-env', { token, input: { appEnvId, decrypt: true } })
      expect(read.json.envVars).toMatchObject([{ name: 'STRIPE_KEY', value: 'sk_live_entered' }])
      expect(bed.complaints).toEqual([])
    })
  },
)
