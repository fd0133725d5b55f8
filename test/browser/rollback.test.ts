import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAppEnv, getAppEnv } from '../../src/contract/app-envs.ts'
import { createApp } from '../../src/contract/apps.ts'
import { launchBrowser, noBrowser } from '../../testkit/console/fixture.ts'
import { availableEngines } from '../../testkit/engines/available-engines.ts'
import { loadOn, versionSource } from '../../testkit/gateway/rolling-load.ts'
import { deploy, noWindow, untilDeployed } from '../../testkit/platform/deploy.ts'
import { Installation } from '../../testkit/platform/installation.ts'
import { untilRead } from '../../testkit/until.ts'

const base = (await availableEngines()).find(({ engine }) => engine === 'process')?.base
const missing = noBrowser ?? (base ? null : 'no process engine')
const connections = 4
/** Requests before the click and after the earlier version serves. */
const enough = 200

describe.skipIf(missing !== null)(
  `a rollback under load, on a real installation${missing ? ` (skipped: ${missing})` : ''}`,
  { timeout: 180_000 },
  () => {
    const installation = new Installation({ LONGSHORE_ENGINE: 'process' })
    let browser: Browser
    let appEnvId = ''
    beforeAll(async () => {
      await installation.start()
      browser = await launchBrowser()
      const client = installation.client()
      const { accountId } = installation.ready
      const { appId } = await client.call(createApp, { name: 'shop', accountId, port: 8080, ...noWindow })
      ;({ appEnvId } = await client.call(createAppEnv, { accountId, appId, name: 'prod', region: 'local' }))
      for (const version of [1, 2]) {
        await deploy(installation, appEnvId, versionSource(base!, version))
        await untilDeployed(installation, appEnvId)
      }
    })
    afterAll(async () => {
      await browser?.close()
      await installation.dispose()
    })

    it('goes back to the earlier version with a click, and loses no request', async () => {
      const { cliEnvName, hosts } = await installation.client().call(getAppEnv, { appEnvId })
      const page = await (await browser.newContext()).newPage()
      page.setDefaultTimeout(60_000)
      await page.goto(installation.ready.signInUrl ?? '')
      await page.getByRole('heading', { name: 'Environments', exact: true }).waitFor()
      await page.goto(new URL(`environments/${cliEnvName}/deployments`, installation.ready.console).href)
      const { outcome, end } = loadOn(installation, hosts[0]!.host, connections)
      const answered = (more: number) => {
        const from = outcome.requests
        return untilRead(
          async () => outcome.requests,
          (requests) => requests >= from + more,
          'requests',
        )
      }
      try {
        await answered(enough)
        expect(outcome.versions).toEqual([2])
        await page.getByRole('button', { name: 'Roll back' }).first().click()
        const dialog = page.getByRole('dialog')
        await dialog.getByRole('listitem').first().waitFor()
        await dialog.getByRole('button', { name: 'Deploy version 1' }).click()
        await dialog.waitFor({ state: 'detached' })
        await page.getByRole('row', { name: /Redeploy.*1 \(current\).*deployed/ }).waitFor()
        await untilRead(
          async () => outcome.versions,
          (versions) => versions.includes(1),
          'version 1',
        )
        await answered(enough)
      } finally {
        await end()
      }
      expect(outcome.lost).toEqual([])
      expect(outcome.versions).toEqual([2, 1])
      expect((await installation.client().call(getAppEnv, { appEnvId })).currentVersion).toBe(1)
    })
  },
)
