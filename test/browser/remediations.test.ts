import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { getAppEnv } from '../../src/contract/app-envs.ts'
import { getRemediation, listRemediationRuns } from '../../src/contract/remediations.ts'
import { ConsoleFixture, noBrowser } from '../../testkit/console/fixture.ts'
import { inspectPages } from '../../testkit/console/inspect.ts'
import { FakeMetrics } from '../../testkit/fakes/metrics.ts'
import { placeEnvironment } from '../../testkit/platform/place-environment.ts'
import { untilRead } from '../../testkit/until.ts'

/** A minute passes in half a second, and the evaluator polls every 250 ms. */
const clockScale = 120
const periodMs = 250

describe.skipIf(noBrowser !== null)(
  `remediations of the console in a browser${noBrowser ? ` (skipped: ${noBrowser})` : ''}`,
  { timeout: 180_000 },
  () => {
    const metrics = new FakeMetrics(periodMs)
    let fixture: ConsoleFixture
    let appEnvId = ''
    let envName = ''
    let remediationId = ''
    let value = 20
    let measuring: NodeJS.Timeout
    const send = async (method: string, path: string, input: Record<string, unknown>) => {
      const { admin } = fixture.platform
      const { status, json, text } = await fixture.platform.request(method, path, {
        token: admin.token,
        input,
      })
      expect(status, text).toBe(200)
      return json
    }
    beforeAll(async () => {
      fixture = await ConsoleFixture.start({ reconciles: false, metrics, clockScale, alerts: true })
      const { platform } = fixture
      ;({ appEnvId } = await platform.makeEnvironment({ app: { name: 'shop', useImage: true } }))
      await placeEnvironment(platform.db, appEnvId, { status: 'RUNNING', desiredState: 'running' })
      envName = (await platform.admin.client.call(getAppEnv, { appEnvId })).cliEnvName
      measuring = setInterval(() => metrics.add(appEnvId, 'cpu_percent', Date.now(), value), periodMs)
      const rule = {
        metric: 'cpu_percent',
        operator: 'gt',
        threshold: 80,
        duration: '1m',
        aggregation: 'last',
      }
      const { alert } = await send('POST', '/app-env/alert', {
        ...{ appEnvId, name: 'Busy', ...rule, contactPointIds: [] },
      })
      const { remediation } = await send('POST', '/app-env/remediation', {
        appEnvId,
        name: 'More containers',
        trigger: { alertId: alert.alertId },
        steps: [{ action: 'scale', containers: 3 }],
        mode: 'auto',
      })
      remediationId = remediation.remediationId
    })
    afterAll(async () => {
      clearInterval(measuring)
      await fixture?.close()
    })
    afterEach(async () => expect(await fixture.endTest()).toEqual([]))

    it('shows a run as a story while it happens: what was seen, what it did, what happened after', async () => {
      const page = await fixture.signedIn(`/environments/${envName}/remediations`)
      await page.getByRole('row', { name: /More containers Acts by itself Scale None yet/ }).waitFor()
      value = 95
      await page.getByRole('row', { name: /More containers .* Verifying/ }).waitFor()
      value = 10
      await page.getByRole('row', { name: /More containers .* Verified/ }).waitFor()
      await page.getByRole('link', { name: 'More containers' }).click()
      const story = page.getByRole('article', { name: /^Busy/ })
      await story.getByText('Verified', { exact: true }).waitFor()
      const seen = story.getByRole('region', { name: 'What was seen' })
      await seen.getByRole('img', { name: /before the steps: .*Threshold above 80/ }).waitFor()
      await story
        .getByRole('region', { name: 'What it did' })
        .getByText(/Scale, done: Scaling from 1 to 3/)
        .waitFor()
      const after = story.getByRole('region', { name: 'What happened after' })
      await after.getByText(/back to Normal/).waitFor()
      await after.getByRole('img', { name: /after the steps: / }).waitFor()
      const { runs } = await fixture.platform.admin.client.call(listRemediationRuns, { remediationId })
      expect(runs.map(({ status }) => status)).toEqual(['verified'])
    })

    it('is turned off and on again, by admins only', async () => {
      const page = await fixture.signedIn(`/environments/${envName}/remediations/${remediationId}`)
      const mode = async () =>
        (await fixture.platform.admin.client.call(getRemediation, { remediationId })).mode
      await page.getByRole('button', { name: 'Turn off' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Turn off' }).click()
      await page.getByText('Off', { exact: true }).waitFor()
      expect(await mode()).toBe('off')
      await page.getByRole('button', { name: 'Turn on' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Turn on' }).click()
      await untilRead(mode, (found) => found === 'auto', 'mode auto again')
      const member = await fixture.platform.makeUser()
      const path = `/environments/${envName}/remediations/${remediationId}`
      const theirs = await fixture.signedIn(path, { token: member.token })
      await theirs.getByRole('heading', { name: 'More containers' }).waitFor()
      expect(await theirs.getByRole('button', { name: /Turn|Delete/ }).count()).toBe(0)
    })

    it('is clean for axe in both themes, and fits 320 to 2,560 pixels', async () => {
      const base = `/environments/${envName}/remediations`
      const page = await fixture.signedIn('/')
      expect(await inspectPages(page, [base, `${base}/${remediationId}`, `${base}/rem_none`])).toEqual([])
    })
  },
)
