import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { updateAppEnvVariables } from '../../src/contract/app-env-actions.ts'
import { deployAppEnvImage } from '../../src/contract/deployments.ts'
import { ConsoleFixture, noBrowser } from '../../testkit/console/fixture.ts'
import { memoryOf, type PageMemory } from '../../testkit/console/measure.ts'
import { FakeMetrics } from '../../testkit/fakes/metrics.ts'

const hours = 8
const hourMs = 3_600_000
const logLinesPerMinute = 20
/** What the engine of the browser may hold more at one time than at another. */
const allowed: PageMemory = { heapMb: 1, nodes: 100, listeners: 50 }

describe.skipIf(noBrowser !== null)(
  `a console that stays open${noBrowser ? ` (skipped: ${noBrowser})` : ''}`,
  { timeout: 400_000 },
  () => {
    const startMs = Date.now() - hours * hourMs
    const metrics = new FakeMetrics(10_000)
    let fixture: ConsoleFixture
    let appEnvId = ''
    beforeAll(async () => {
      fixture = await ConsoleFixture.start({ metrics })
      const app = { useImage: true }
      ;({ appEnvId } = await fixture.platform.makeEnvironment({ app, environment: { cliEnvName: 'long' } }))
    })
    afterAll(() => fixture?.close())
    afterEach(async () => expect(await fixture.endTest()).toEqual([]))

    /** A page whose timers wait for the test; its clock begins eight hours ago and ends now. */
    const opened = async (pathname: string): Promise<Page> => {
      const page = await fixture.page(await fixture.context())
      await page.clock.install({ time: startMs })
      const { code } = await fixture.platform.sessions.createLink(fixture.platform.admin.token)
      const next = encodeURIComponent(`/console${pathname}`)
      await page.goto(`${fixture.address('/sign-in')}?next=${next}#${code}`)
      await page.getByRole('navigation', { name: 'Environment' }).waitFor()
      return page
    }

    /** What a busy environment does in a minute: traffic, output, and now and then a change or a deployment. */
    const minutePasses = async (minute: number) => {
      const at = startMs + minute * 60_000
      metrics.add(appEnvId, 'ingress_request_rate', at, minute % 17)
      metrics.add(appEnvId, 'cpu_percent', at, minute % 13)
      const line = {
        at: new Date(at).toISOString(),
        stream: 'stdout',
        type: 'RUNTIME',
        podName: 'one',
      } as const
      const message = `minute ${minute}`
      const lines = Array.from({ length: logLinesPerMinute }, () => ({ ...line, contentId: null, message }))
      await fixture.platform.logs.append(appEnvId, lines)
      const { client } = fixture.platform.admin
      const value = String(minute)
      if (minute % 10 === 0)
        await client.call(updateAppEnvVariables, {
          appEnvId,
          set: [{ name: 'MINUTE', value, isSecret: false }],
        })
      if (minute % 60 === 30)
        await client.call(deployAppEnvImage, { appEnvId, image: `registry.example.com/app:${minute}` })
    }

    it('does not grow in eight hours of updates', async () => {
      const pages = await Promise.all(['', '/logs'].map((tab) => opened(`/environments/long${tab}`)))
      let updates = 0
      for (const page of pages)
        page.on('requestfinished', () => {
          updates += 1
        })
      const held: PageMemory[][] = []
      for (let minute = 0; minute < hours * 60; minute += 1) {
        await minutePasses(minute)
        // Every timer that is due fires once, so that each part of a page reads and draws once.
        await Promise.all(pages.map((page) => page.clock.fastForward(60_000)))
        if (minute % 60 === 59) held.push(await Promise.all(pages.map(memoryOf)))
      }
      // Every page has really been busy.
      expect(updates).toBeGreaterThan(pages.length * hours * 60)
      await pages[0]!.getByText(/^Version \d is serving/).waitFor()
      for (const index of pages.keys()) {
        for (const what of Object.keys(allowed) as (keyof PageMemory)[]) {
          const course = held.map((hour) => hour[index]![what])
          // The first hours fill what is bounded. The least of several: an update may be under way while a page is measured.
          const grown = Math.min(...course.slice(-3)) - Math.min(...course.slice(2, 4))
          expect(grown, `${what} of page ${index}: ${course.join(', ')}`).toBeLessThan(allowed[what])
        }
      }
    })
  },
)
