import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { launchBrowser, noBrowser } from '../../testkit/console/fixture.ts'
import { axe } from '../../testkit/console/inspect.ts'
import { openToolSession, type ToolSession } from '../../testkit/mcp/tool-session.ts'
import { TestPlatform } from '../../testkit/platform/test-platform.ts'

/** A host as the extension describes it: it shows the page in a sandboxed frame and relays messages. */
const host = `<!doctype html><html lang="en"><title>Host</title><body><iframe title="app" sandbox="allow-scripts"></iframe><script>
const frame = document.querySelector('iframe')
const post = (message) => frame.contentWindow.postMessage({ jsonrpc: '2.0', ...message }, '*')
addEventListener('message', async ({ source, data }) => {
  if (source !== frame.contentWindow) return
  const { id, method, params } = data
  if (method === 'ui/initialize') {
    const hostContext = { toolInfo: { tool: { name: window.tool } } }
    post({ id, result: { protocolVersion: params.protocolVersion, hostInfo: {}, hostCapabilities: {}, hostContext } })
  } else if (method === 'ui/notifications/initialized') {
    post({ method: 'ui/notifications/tool-input', params: { arguments: window.input } })
    post({ method: 'ui/notifications/tool-result', params: window.result })
  } else if (method === 'tools/call') post({ id, result: await window.callTool(params.name, params.arguments) })
})
</script></body></html>`

describe.skipIf(noBrowser !== null)(
  `the page for MCP hosts${noBrowser ? ` (skipped: ${noBrowser})` : ''}`,
  { timeout: 180_000 },
  () => {
    let platform: TestPlatform
    let session: ToolSession
    let browser: Browser
    let outside: Server
    let reached = 0
    let appEnvId: string
    let html: string
    beforeAll(async () => {
      platform = await TestPlatform.start({ reconciles: false })
      session = await openToolSession(platform.apiUrl, { token: platform.admin.token })
      const [content] = (await session.client.readResource({ uri: 'ui://longshore/environment' })).contents
      html = (content as { text: string }).text
      browser = await launchBrowser()
      outside = createServer((_req, res) => {
        reached += 1
        res.end()
      })
      await new Promise<void>((resolve) => outside.listen(0, '127.0.0.1', resolve))
    })
    afterAll(async () => {
      await browser?.close()
      await session?.close()
      await platform?.close()
      outside?.close()
    })
    beforeEach(async () => {
      appEnvId = (await platform.makeEnvironment()).appEnvId
    })

    /** The page with the result of a call, as a host shows it. */
    async function shownAfter(tool: string, input: Record<string, unknown>, result?: unknown): Promise<Page> {
      const page = await browser.newPage()
      page.setDefaultTimeout(60_000)
      const call = (name: string, args: Record<string, unknown>) =>
        session.client.callTool({ name, arguments: args })
      await page.exposeFunction('callTool', call)
      await page.setContent(host)
      await page.evaluate(
        ([name, args, answer, source]) => {
          Object.assign(globalThis, { tool: name, input: args, result: answer })
          document.querySelector('iframe')!.srcdoc = source
        },
        [tool, input, result ?? (await call(tool, input)), html] as const,
      )
      return page
    }

    it('shows the status of an environment, without violations of accessibility', async () => {
      const page = await shownAfter('get-app-env-status', { appEnvId })
      const { structured } = await session.call('get-app-env-status', { appEnvId })
      const app = page.frameLocator('iframe')
      await app.getByRole('heading', { name: structured.cliEnvName as string }).waitFor()
      await app.getByRole('row', { name: `Status ${structured.status}` }).waitFor()
      const frame = page.frames().find((one) => one.parentFrame() !== null)!
      expect(await axe(frame)).toEqual([])
      await page.close()
    })

    it('draws a series', async () => {
      const points = [1, 4, 2].map((value, index) => ({
        t: `t${index}`,
        value,
        min: value,
        max: value,
        last: value,
      }))
      const facts = { appEnvId, metric: 'cpu_percent', unit: '%', points }
      const result = { content: [{ type: 'text', text: 'CPU of shop.\n{}' }], structuredContent: facts }
      const page = await shownAfter('get-app-env-metrics-series', { appEnvId }, result)
      const app = page.frameLocator('iframe')
      await app.getByText('cpu_percent: 2 % now, at most 4 %').waitFor()
      const line = await app.locator('polyline').getAttribute('points')
      expect(line).toBe('0,47 150,2 300,32')
      await page.close()
    })

    it('shows a change before it is made, and makes it when the person says so', async () => {
      const set = [{ name: 'COLOR', value: 'green', isSecret: false }]
      const page = await shownAfter('update-app-env-variables', { appEnvId, set, dryRun: true })
      const app = page.frameLocator('iframe')
      await app.getByRole('heading', { name: 'This change is not made yet' }).waitFor()
      await app.getByText('green').first().waitFor()
      const variables = async () =>
        JSON.stringify((await session.call('get-app-env', { appEnvId })).structured)
      expect(await variables()).not.toContain('COLOR')
      await app.getByRole('button', { name: 'Make this change' }).click()
      await app.getByRole('heading', { name: 'This change is not made yet' }).waitFor({ state: 'detached' })
      expect(await variables()).toContain('COLOR')
      await page.close()
    })

    it('does not delete by its button alone: the confirmation of the call still counts', async () => {
      const page = await shownAfter('delete-app-env', { appEnvId, dryRun: true })
      const app = page.frameLocator('iframe')
      await app.getByRole('button', { name: 'Make this change' }).click()
      await app.getByText('Confirmation needed').waitFor()
      expect((await session.call('get-app-env', { appEnvId })).isError).toBe(false)
      await page.close()
    })

    it('shows what tenants wrote as text, and reaches no network', async () => {
      const address = `http://127.0.0.1:${(outside.address() as AddressInfo).port}/`
      const name = `<img src="${address}" onerror="parent.postMessage('hacked','*')">`
      const status = { appEnvId, cliEnvName: name, status: 'RUNNING', containers: {}, hosts: [] }
      const result = { content: [{ type: 'text', text: name }], structuredContent: status }
      const page = await shownAfter('get-app-env-status', { appEnvId }, result)
      const app = page.frameLocator('iframe')
      await app.getByRole('heading', { name }).waitFor()
      expect(await app.locator('img').count()).toBe(0)
      const frame = page.frames().find((one) => one.parentFrame() !== null)!
      const sent = await frame.evaluate(
        (url) =>
          fetch(url).then(
            () => 'sent',
            () => 'blocked',
          ),
        address,
      )
      expect(sent).toBe('blocked')
      expect(reached).toBe(0)
      await page.close()
    })
  },
)
