import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { getAppEnv } from '../../src/contract/app-envs.ts'
import { deployAppEnvImage } from '../../src/contract/deployments.ts'
import { getJobRun, listJobRuns, startJobRun, updateJobConfig } from '../../src/contract/jobs.ts'
import { createUserToken } from '../../src/contract/users.ts'
import { ConsoleFixture, noBrowser } from '../../testkit/console/fixture.ts'
import { axe, inspectPages } from '../../testkit/console/inspect.ts'

describe.skipIf(noBrowser !== null)(
  `the console in a browser: jobs${noBrowser ? ` (skipped: ${noBrowser})` : ''}`,
  { timeout: 180_000 },
  () => {
    let fixture: ConsoleFixture
    let appEnvId = ''
    let envName = ''
    const call: typeof fixture.platform.admin.client.call = (...args) =>
      fixture.platform.admin.client.call(...args)
    const newest = async () => (await call(listJobRuns, { appEnvId, limit: 1 })).jobRuns[0]!
    const over = (jobRunId: string) =>
      expect.poll(async () => (await call(getJobRun, { jobRunId })).jobRun.finishedAt).not.toBeNull()
    beforeAll(async () => {
      fixture = await ConsoleFixture.start({ clockScale: 100 })
      const jobConfig = { command: 'echo from the app', timeoutSeconds: 90 }
      ;({ appEnvId } = await fixture.platform.makeEnvironment({
        app: { name: 'report', dockerPreset: 'JOB', useImage: true, jobConfig },
        environment: { cliEnvName: 'report-nightly' },
      }))
      envName = 'report-nightly'
    })
    afterAll(() => fixture?.close())
    afterEach(async () => expect(await fixture.endTest()).toEqual([]))

    it('shows that there are no runs, and why none can start, beside what was typed', async () => {
      const page = await fixture.signedIn(`/environments/${envName}`)
      await page.getByRole('link', { name: 'Runs' }).click()
      await page.getByText('No runs yet').waitFor()
      await page.getByRole('button', { name: 'Start a run' }).click()
      await page.getByRole('dialog').getByText('Nothing is deployed yet').waitFor()
      await call(deployAppEnvImage, { appEnvId, image: 'team/report:1' })
      await expect.poll(async () => (await call(getAppEnv, { appEnvId })).currentVersion).toBe(1)
    })

    it('starts a run after a question, shows its output live, and cancels it', async () => {
      const page = await fixture.signedIn(`/environments/${envName}/runs`)
      await page.getByRole('button', { name: 'Start a run' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText(`Starts one container of ${envName}`).waitFor()
      await dialog.getByText('Job settings: echo from the app').waitFor()
      await dialog.getByLabel('Deadline').fill('999999999')
      await dialog.getByRole('button', { name: 'Start run' }).click()
      await dialog.getByRole('alert').waitFor()
      expect(await dialog.getByLabel('Deadline').getAttribute('aria-invalid')).toBe('true')
      await dialog.getByLabel('Deadline').fill('600')
      await dialog.getByLabel('Command').fill('echo hello there; sleep 500')
      expect(await axe(page)).toEqual([])
      await dialog.getByRole('button', { name: 'Start run' }).click()
      await page.waitForURL(/\/runs\/run_/)
      await page.getByLabel('Log lines').getByText('hello there').waitFor()
      await page.getByText('Running', { exact: true }).first().waitFor()
      await page.getByRole('row', { name: 'Deadline 10 min This run' }).waitFor()
      await page.getByRole('row', { name: 'Retries 0 Platform default' }).waitFor()
      await page.getByRole('region', { name: 'List of attempts' }).getByText(/-1$/).waitFor()
      await page.getByRole('button', { name: 'Cancel run' }).click()
      await dialog.getByRole('listitem').first().waitFor()
      await dialog.getByRole('button', { name: 'Cancel run' }).click()
      // The dialog names the coming status too.
      await dialog.waitFor({ state: 'hidden' })
      await page.getByText('Canceled', { exact: true }).waitFor()
      expect((await newest()).status).toBe('CANCELED')
    })

    it('lists every attempt of a run that is tried again, and says that it printed nothing', async () => {
      const { jobRun } = await call(startJobRun, {
        appEnvId,
        command: 'exit 3',
        backoffLimit: 1,
      })
      await over(jobRun.jobRunId)
      const page = await fixture.signedIn(`/environments/${envName}/runs/${jobRun.jobRunId}`)
      await page.getByText('2 of at most 2').waitFor()
      const attempts = page.getByRole('region', { name: 'List of attempts' })
      await attempts.getByRole('row', { name: /-1 Failed .* exit code 3/ }).waitFor()
      await attempts.getByRole('row', { name: /-2 Failed .* exit code 3/ }).waitFor()
      await page.getByRole('row', { name: 'Command exit 3 This run' }).waitFor()
      await page.getByText('The run printed nothing').waitFor()
    })

    it('filters runs by an address that can be shared, and lists new ones by itself', async () => {
      const page = await fixture.signedIn(`/environments/${envName}/runs?status=SUCCEEDED`)
      await page.getByText('No run has this status').waitFor()
      await over((await call(startJobRun, { appEnvId })).jobRun.jobRunId)
      await page.getByRole('row', { name: /Succeeded .* echo from the app/ }).waitFor()
      expect(await page.getByRole('row').count()).toBe(2)
      await page.getByLabel('Status').selectOption('CANCELED')
      await page.waitForURL(/status=CANCELED/)
      await page.getByRole('row', { name: /Canceled .* echo hello there/ }).waitFor()
    })

    it('shows where each setting comes from, and changes what the environment says itself', async () => {
      await call(updateJobConfig, { appEnvId, backoffLimit: 2, applyImmediately: true })
      const page = await fixture.signedIn(`/environments/${envName}/job-settings`)
      const inForce = page.getByRole('region', { name: 'Job settings in force' })
      await inForce.getByRole('row', { name: 'Command echo from the app App –' }).waitFor()
      await inForce.getByRole('row', { name: 'Deadline 1 min 30 s App –' }).waitFor()
      await inForce.getByRole('row', { name: 'Retries 2 Environment –' }).waitFor()
      await inForce.getByRole('row', { name: 'Shell on Platform default –' }).waitFor()
      const form = page.getByRole('form', { name: 'Settings of this environment' })
      await form.getByLabel('Retries').fill('')
      await form.getByLabel('Deadline').fill('120')
      await form.getByLabel('Container kept for').fill('10')
      await form.getByLabel('Container kept for').evaluate((input) => input.removeAttribute('min'))
      await form.getByRole('button', { name: 'Save as pending' }).click()
      await form.getByText('must be at least 300 seconds').first().waitFor()
      expect(await form.getByLabel('Container kept for').getAttribute('aria-invalid')).toBe('true')
      expect(await form.getByLabel('Deadline').inputValue()).toBe('120')
      await form.getByLabel('Container kept for').fill('')
      await form.getByRole('button', { name: 'Save as pending' }).click()
      await inForce.getByRole('row', { name: 'Deadline 1 min 30 s App 2 min, environment' }).waitFor()
      await inForce.getByRole('row', { name: 'Retries 2 Environment 0, platform default' }).waitFor()
      const { jobConfig } = await call(getAppEnv, { appEnvId })
      expect(jobConfig).toEqual({ timeoutSeconds: 120 })
    })

    it('says that a read-only session can start and cancel nothing', async () => {
      const { token } = await call(createUserToken, { name: 'reader', readOnly: true })
      const page = await fixture.signedIn(`/environments/${envName}/runs`, { token })
      await page.getByRole('button', { name: 'Start a run' }).click()
      await page.getByRole('dialog').getByText('This token is read-only').waitFor()
    })

    it('M2: shows the same page for runs of others, unknown runs and pages that a kind does not have', async () => {
      const other = await fixture.platform.makeEnvironment({ environment: { cliEnvName: 'no-job' } })
      expect(other.appEnvId).not.toBe(appEnvId)
      const { jobRunId } = await newest()
      const page = await fixture.signedIn(`/environments/${envName}/runs/run_unknown`)
      for (const pathname of [
        `/environments/${envName}/runs/run_unknown`,
        `/environments/no-job/runs/${jobRunId}`,
        '/environments/no-job/runs',
        '/environments/no-job/job-settings',
      ]) {
        await page.goto(fixture.address(pathname))
        await page.getByRole('heading', { name: 'Page not found' }).waitFor()
      }
    })

    it('is clean for axe in both themes, and fits 320 to 2,560 pixels', async () => {
      const { jobRunId } = await newest()
      const page = await fixture.signedIn('/')
      const tabs = ['runs', `runs/${jobRunId}`, 'job-settings']
      const pages = tabs.map((tab) => `/environments/${envName}/${tab}`)
      expect(await inspectPages(page, pages)).toEqual([])
    })
  },
)
