import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getAppEnv, listAppEnvs } from '../../src/contract/app-envs.ts'
import { launchBrowser, noBrowser } from '../../testkit/console/fixture.ts'
import { axe } from '../../testkit/console/inspect.ts'
import { openAgent } from '../../testkit/mcp/tools-over-http.ts'
import { Installation } from '../../testkit/platform/installation.ts'

/** The longest that a build and start of the sample may take on a busy machine. */
const deployMs = 120_000

describe.skipIf(noBrowser !== null)(
  `the first run, on a real installation${noBrowser ? ` (skipped: ${noBrowser})` : ''}`,
  { timeout: 180_000 },
  () => {
    const installation = new Installation({ LONGSHORE_ENGINE: 'process' })
    let browser: Browser
    let page: Page
    let envName = ''
    const environment = () => installation.client().call(getAppEnv, { envName })
    beforeAll(async () => {
      const ready = await installation.start()
      browser = await launchBrowser()
      page = await (await browser.newContext()).newPage()
      page.setDefaultTimeout(60_000)
      await page.goto(ready.signInUrl ?? '')
    })
    afterAll(async () => {
      await browser?.close()
      await installation.dispose()
    })

    /** Pictures of the scenario, for people: LONGSHORE_SHOTS names the folder. */
    const shot = async (name: string) => {
      const folder = process.env.LONGSHORE_SHOTS
      if (folder) await page.screenshot({ path: `${folder}/scenario-${name}.png`, fullPage: true })
    }

    it('deploys the sample function with one click; it serves', async () => {
      await page.getByRole('button', { name: 'Create sample function' }).waitFor()
      expect(await axe(page)).toEqual([])
      await page.getByRole('button', { name: 'Create sample function' }).click()
      const address = page.getByRole('link', { name: /^http:.*\.fn\.localhost/ })
      await address.waitFor({ timeout: deployMs })
      await page.getByRole('listitem').filter({ hasText: 'Serving requests' }).getByText('Done').waitFor()
      await page.getByLabel('Build log').getByRole('listitem').first().waitFor()
      await shot('1-serving')
      expect(await axe(page)).toEqual([])
      const { accountId } = installation.ready
      const { appEnvs } = await installation.client().call(listAppEnvs, { accountId })
      envName = appEnvs[0]?.cliEnvName ?? ''
      const { host } = new URL((await address.getAttribute('href')) ?? '')
      const answer = await installation.request(host)
      expect(answer).toMatchObject({ status: 200 })
      expect(JSON.parse(answer.body)).toMatchObject({ message: 'Hello from Longshore' })
    })

    it('deploys a broken version, shows why it fails while the good one serves, and repairs it', async () => {
      await page.getByRole('button', { name: 'Deploy a broken version' }).click()
      const last = page.getByRole('list', { name: 'Progress' }).getByRole('listitem').last()
      await last.getByText('Failed', { exact: true }).waitFor({ timeout: deployMs })
      expect((await environment()).currentVersion).toBe(1)
      await shot('2-broken')
      const [host] = (await environment()).hosts
      expect((await installation.request(host!.host)).status).toBe(200)
      await page.getByRole('button', { name: 'Deploy the good version' }).click()
      await last.getByText('Done').waitFor({ timeout: deployMs })
      expect((await environment()).currentVersion).toBe(3)
    })

    it('offers the failed version again, and a rollback only to one that served', async () => {
      await page.getByRole('link', { name: envName, exact: true }).last().click()
      await page.getByRole('link', { name: 'Deployments', exact: true }).click()
      const actionOf = (row: RegExp) => page.getByRole('row', { name: row }).getByRole('button').innerText()
      await page.getByRole('row', { name: / 3 \(current\) deployed/ }).waitFor()
      expect(await actionOf(/ 2 failed Exits at once: /)).toBe('Deploy again')
      expect(await actionOf(/ 1 deployed/)).toBe('Roll back')
      expect(await page.getByRole('row', { name: / started$/ }).count()).toBe(3)
    })

    it('sets an alert on it, and comes back to connect an agent', async () => {
      await page.getByRole('main').getByRole('link', { name: 'Alerts', exact: true }).click()
      await page.getByRole('link', { name: 'New alert' }).click()
      await page.getByLabel('Name', { exact: true }).fill('Too many errors')
      await shot('3-new-alert')
      await page.getByRole('button', { name: 'Create alert' }).click()
      await page.getByRole('heading', { name: 'Too many errors' }).waitFor()
      await page.getByRole('link', { name: 'Alerts' }).first().click()
      await page.getByRole('row', { name: /Too many errors/ }).waitFor()
      await shot('4-alerts')
      await page.getByRole('link', { name: 'Environments', exact: true }).click()
      await page.getByRole('region', { name: 'At a glance' }).getByText('of 1 alert').waitFor()
      await shot('5-overview')
      await page.getByRole('link', { name: 'Get started' }).click()
    })

    it('connects an agent by the copied configuration, sees its first call, and undoes it', async () => {
      await page.getByText('Ask the agent, for example').waitFor()
      // The page goes on with the sample of the visit before.
      await page.getByRole('button', { name: 'Deploy a broken version' }).waitFor()
      expect(await page.getByRole('button', { name: 'Create sample function' }).count()).toBe(0)
      await page.getByRole('button', { name: 'Deploy the good version' }).click()
      await page.getByText('Version 4 is serving').waitFor({ timeout: deployMs })
      await page.getByRole('button', { name: 'Create a token for it' }).click()
      await page.getByLabel('MCP host').selectOption('cursor')
      const region = page.getByRole('region', { name: 'Configuration for Cursor' })
      await region.getByText('lsu_').waitFor()
      const { longshore } = JSON.parse(await region.innerText()).mcpServers
      const agent = await openAgent(longshore.url, longshore.headers.Authorization.replace('Bearer ', ''))
      try {
        const set = [{ name: 'COLOR', value: 'green', isSecret: false }]
        await agent.does('update-app-env-variables', { envName, set })
        await agent.does('apply-app-env-changes', { envName })
      } finally {
        await agent.close()
      }
      await shot('6-agent')
      expect((await environment()).envVars.map(({ name }) => name)).toEqual(['COLOR'])
      await page.getByText('An agent has made a call').waitFor()
      // The page shows the deployment of the agent too, although it deployed one itself.
      await page.getByText('Version 5 is serving').waitFor({ timeout: deployMs })
      const call = page.getByRole('list', { name: /Calls of agents/ }).getByRole('listitem')
      await call.filter({ hasText: 'Change variables' }).getByRole('link').click()
      await page.waitForURL(/\/console\/agents\/usr_.*surface=mcp/)
      await page.getByRole('button', { name: 'Undo Change variables' }).waitFor()
      await shot('7-agent-page')
      const refused: string[] = []
      page.on('response', (response) => {
        if (response.status() >= 400) refused.push(response.url())
      })
      await page.getByRole('button', { name: 'Undo Change variables' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Undo' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await page.getByText('Undone', { exact: true }).waitFor()
      expect(refused).toEqual([])
      expect((await environment()).envVars).toEqual([])
    })
  },
)
