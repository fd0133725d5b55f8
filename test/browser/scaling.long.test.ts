import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { getAppEnvStatus } from '../../src/contract/app-env-reads.ts'
import { getAppEnv } from '../../src/contract/app-envs.ts'
import { deployAppEnvImage } from '../../src/contract/deployments.ts'
import { ConsoleFixture, noBrowser } from '../../testkit/console/fixture.ts'
import { axe } from '../../testkit/console/inspect.ts'
import { untilRead } from '../../testkit/until.ts'

/**
 * How long a request takes when `concurrent` are under way: beyond four they slow each other down. Long beside what a
 * busy machine adds.
 */
const latencyMs = (concurrent: number) => (concurrent <= 4 ? 250 : 150 * concurrent)

describe.skipIf(noBrowser !== null)(
  `scaling in a browser${noBrowser ? ` (skipped: ${noBrowser})` : ''}`,
  { timeout: 180_000 },
  () => {
    let fixture: ConsoleFixture
    let appEnvId = ''
    let underWay = 0
    let requests = 0
    const gateway = createServer((_request, response) => {
      requests += 1
      underWay += 1
      setTimeout(() => {
        underWay -= 1
        response.end('ok')
      }, latencyMs(underWay))
    })
    beforeAll(async () => {
      await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve))
      const { port } = gateway.address() as AddressInfo
      fixture = await ConsoleFixture.start({ ingress: { host: '127.0.0.1', port } })
      const app = { dockerPreset: 'FUNCTION' }
      ;({ appEnvId } = await fixture.platform.makeEnvironment({ app, environment: { cliEnvName: 'resize' } }))
    })
    afterAll(async () => {
      await fixture?.close()
      gateway.closeAllConnections()
      gateway.close()
    })
    afterEach(async () => expect(await fixture.endTest()).toEqual([]))

    it('charts the results of a probe and applies the proposed settings', async () => {
      const { client } = fixture.platform.admin
      const page = await fixture.signedIn('/environments/resize/scaling')
      await page.getByText('Start or deploy the function first.').waitFor()
      expect(await page.getByRole('button', { name: 'Measure' }).isDisabled()).toBe(true)
      await client.call(deployAppEnvImage, { appEnvId, image: 'sample:1' })
      await untilRead(
        () => client.call(getAppEnvStatus, { appEnvId }),
        ({ status }) => status === 'RUNNING',
        'a function that serves',
      )
      await page.getByLabel('Requests', { exact: true }).fill('90')
      await page.getByRole('button', { name: 'Measure' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('Sends at most 90 GET requests').waitFor()
      expect(requests).toBe(0)
      await dialog.getByRole('button', { name: 'Measure' }).click()
      const result = page.getByRole('region', { name: 'Result of the probe' })
      await result.getByRole('img', { name: /^Latency\. Median: .* ms at 1, .* at 24\. 95th/ }).waitFor()
      await result.getByRole('img', { name: /^Throughput\. Answered: .* req\/s at 1/ }).waitFor()
      await result.getByRole('row', { name: /^24 / }).waitFor()
      // Each chart has drawn something.
      const inked = await result.locator('canvas').evaluateAll((canvases) =>
        canvases.map((canvas) => {
          const { width, height } = canvas as HTMLCanvasElement
          const data = (canvas as HTMLCanvasElement).getContext('2d')!.getImageData(0, 0, width, height).data
          return data.some((byte) => byte !== 0)
        }),
      )
      expect(inked).toEqual([true, true, true])
      expect(await axe(page)).toEqual([])
      await page.setViewportSize({ width: 320, height: 800 })
      await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
      await page.setViewportSize({ width: 1280, height: 800 })
      await result.getByText(/^“Requests per container” 4: p95 goes from/).waitFor()
      await result.getByRole('button', { name: 'Use these settings' }).click()
      await dialog.getByRole('listitem').first().waitFor()
      await dialog.getByRole('button', { name: 'Save and apply' }).click()
      await dialog.waitFor({ state: 'detached' })
      expect((await client.call(getAppEnv, { appEnvId })).functionConfig?.containerConcurrency).toBe(4)
      await result.getByRole('button', { name: 'Use these settings' }).waitFor({ state: 'detached' })
    })

    it('keeps the form and says why when the function cannot be probed', async () => {
      const page = await fixture.signedIn('/environments/resize/scaling')
      await page.getByLabel('Path', { exact: true }).fill('no slash')
      await page.getByRole('button', { name: 'Measure' }).click()
      await page
        .getByRole('dialog')
        .getByRole('alert')
        .getByText(/must begin with/)
        .waitFor()
      await page.keyboard.press('Escape')
      expect(await page.getByLabel('Path', { exact: true }).inputValue()).toBe('no slash')
    })

    it('sets and removes the memory target of autoscaling', async () => {
      const { client } = fixture.platform.admin
      const web = await fixture.platform.makeEnvironment({ environment: { cliEnvName: 'web' } })
      const target = async () =>
        (await client.call(getAppEnv, { appEnvId: web.appEnvId })).autoscaling?.targetMemoryPercent
      const page = await fixture.signedIn('/environments/web/scaling')
      const form = page.getByRole('form', { name: 'Autoscaling' })
      const field = form.getByLabel('Memory target')
      expect(await field.inputValue()).toBe('')
      await field.fill('80')
      await form.getByRole('button', { name: 'Save' }).click()
      await expect.poll(target).toBe(80)
      // The page has read it too.
      await form.getByRole('button', { name: 'Save', disabled: true }).waitFor()
      await field.fill('')
      await form.getByRole('button', { name: 'Save' }).click()
      await expect.poll(target).toBeNull()
    })
  },
)
