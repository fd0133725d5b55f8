// Takes the pictures of the console for README and docs: starts an installation of its own on free ports, has a person
// deploy the sample and an agent work on it over MCP, sends requests, and writes docs/images/<page>-<theme>.png.
// npm run screenshots. Needs Chromium; everything but the pictures is removed at the end.
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { chromium } from 'playwright-core'
import { pack } from 'tar-stream'
import { chromiumArgs, chromiumPath, noBrowser } from '../testkit/chromium.mjs'
import { picture, takePictures } from './pictures.mjs'

/** Long enough for charts and sparklines, with a point each two minutes, to show a course. */
const loadSeconds = 5 * 60
const entry = path.resolve('dist/longshore.js')

async function startPlatform(home) {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('LONGSHORE_')),
  )
  Object.assign(env, {
    LONGSHORE_HOME: home,
    LONGSHORE_PORT: '0',
    LONGSHORE_GATEWAY_PORT: '0',
    LONGSHORE_ENGINE: 'process',
    LONGSHORE_LOG_LEVEL: 'warn',
  })
  const child = spawn(process.execPath, [entry, 'serve'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ready = await new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`serve ended with ${code}`)))
    createInterface({ input: child.stdout }).once('line', (line) => resolve(JSON.parse(line)))
  })
  const stop = async () => {
    child.kill('SIGTERM')
    const stopping = spawn(process.execPath, [entry, 'stop'], { env, stdio: 'ignore' })
    await new Promise((resolve) => stopping.once('exit', resolve))
  }
  return {
    ...ready,
    api: new URL(ready.api).origin,
    token: (await readFile(ready.adminTokenFile, 'utf8')).trim(),
    stop,
  }
}

function restOf({ api, token }) {
  return async (method, pathname, input, as = token) => {
    const inQuery = method === 'GET' || method === 'DELETE'
    const query = inQuery ? `?${new URLSearchParams(input)}` : ''
    const answer = await fetch(`${api}/api/public/v1${pathname}${query}`, {
      method,
      headers: { authorization: as, ...(inQuery ? {} : { 'content-type': 'application/json' }) },
      ...(inQuery ? {} : { body: JSON.stringify(input) }),
    })
    const body = await answer.json()
    if (!answer.ok) throw new Error(`${method} ${pathname}: ${body.error}. ${body.details ?? ''}`)
    return body
  }
}

/** The first run in the browser, up to a serving function. */
async function firstRun(page) {
  await page.getByRole('button', { name: 'Create sample function' }).click()
  const served = page.getByRole('listitem').filter({ hasText: 'Serving requests' })
  await served.getByText('Done').waitFor({ timeout: 120_000 })
}

/** A shop whose checkout fails now and then, deployed from source, and an alert that fires because of it. */
async function deployShop(rest, accountId) {
  const { appId } = await rest('POST', '/app', {
    name: 'Shop',
    accountId,
    dockerPreset: 'CUSTOM',
    port: 8080,
  })
  const create = (name) => rest('POST', '/app-env', { accountId, appId, name, region: 'local' })
  const [prod, staging] = [await create('prod'), await create('staging')]
  const { appEnvId } = prod
  const { uploadUrl, storageKey } = await rest('POST', '/app-env/request-storage-key', { appEnvId })
  const sent = await fetch(uploadUrl, { method: 'PUT', body: await archiveOf(shop) })
  if (!sent.ok) throw new Error(`upload: ${await sent.text()}`)
  await rest('POST', '/app-env/notify-upload', { appEnvId, storageKey })
  const onCall = { name: 'On call', type: 'webhook', config: { url: 'https://hooks.example.com/longshore' } }
  const { contactPoint } = await rest('POST', '/contact-point', { accountId, ...onCall })
  await rest('POST', '/app-env/alert', {
    appEnvId,
    name: 'Checkout fails',
    metric: 'ingress_5xx_percent',
    operator: 'gt',
    threshold: 5,
    duration: '1m',
    queryRange: '5m',
    contactPointIds: [contactPoint.contactPointId],
  })
  for (;;) {
    const { currentDeployment } = await rest('GET', '/app-env/status', { appEnvId })
    if (currentDeployment?.status === 'DEPLOYED') break
    if (currentDeployment?.failure) throw new Error(`shop: ${currentDeployment.failure.message}`)
    await delay(500)
  }
  const { hosts, cliEnvName } = await rest('GET', '/app-env', { appEnvId })
  return { prod, staging, host: hosts[0].host, envName: cliEnvName }
}

const shop = {
  Dockerfile: 'FROM node:20-alpine\nCOPY . .\nCMD ["node", "server.js"]\n',
  'server.js': `import http from 'node:http'
http
  .createServer((request, response) => {
    const fails = request.url.startsWith('/checkout') && Math.random() < 0.4
    if (fails) console.error('checkout: the payment provider did not answer')
    setTimeout(() => response.writeHead(fails ? 502 : 200).end('shop'), 20 + 60 * Math.random())
  })
  .listen(process.env.PORT)
`,
  'package.json': '{ "name": "shop", "type": "module" }\n',
}

async function archiveOf(files) {
  const archive = pack()
  for (const [name, text] of Object.entries(files)) archive.entry({ name }, text)
  archive.finalize()
  return gzipSync(await buffer(archive))
}

/** Three members with access to some environments, and tokens for agents. Returns the agent's token. */
async function addPeople(rest, accountId, functionId, { prod, staging }) {
  const people = [
    ['Ada Lindqvist', 'ada@example.com', [functionId, staging.appEnvId]],
    ['Ben Okafor', 'ben@example.com', [prod.appEnvId, staging.appEnvId]],
    ['Chiara Rossi', 'chiara@example.com', []],
  ]
  const tokens = []
  for (const [name, email, allowedAppEnvIds] of people) {
    tokens.push((await rest('POST', '/member', { accountId, name, email, allowedAppEnvIds })).token)
  }
  await rest('PATCH', '/account', { accountId, memberEnvAccessEnabled: true })
  const inMonths = (months) => new Date(Date.now() + months * 30 * 86_400_000).toISOString()
  await rest('POST', '/user/tokens', { name: 'Dashboards', readOnly: true, expiresAt: inMonths(3) })
  await rest('POST', '/user/tokens', { name: 'Deploys from CI', expiresAt: inMonths(6) })
  return tokens[0]
}

/** A database, where the programs of one are installed; answers its name in URLs. */
async function addDatabase(rest, accountId) {
  const { presets } = await rest('GET', '/database-presets', {})
  const found = presets.find(({ dockerPreset, available }) => dockerPreset === 'POSTGRESQL' && available)
  if (!found) return null
  const { appId } = await rest('POST', '/app', { name: 'Orders', accountId, dockerPreset: 'POSTGRESQL' })
  const { appEnvId } = await rest('POST', '/app-env', { accountId, appId, name: 'data', region: 'local' })
  for (;;) {
    const { status } = await rest('GET', '/app-env/status', { appEnvId })
    if (status === 'RUNNING') break
    await delay(500)
  }
  await rest('POST', '/app-env/backup', { appEnvId })
  return (await rest('GET', '/app-env', { appEnvId })).cliEnvName
}

/** An agent that tunes the function, and is refused what its person may not do either (A3). */
async function agentWorks({ mcp, accountId }, token, envName) {
  const agent = new Client({ name: 'agent', version: '1' }, { capabilities: { elicitation: {} } })
  agent.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { agree: true } }))
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await agent.connect(new StreamableHTTPClientTransport(new URL(mcp), { requestInit }))
  const call = (name, args) => agent.callTool({ name, arguments: { envName, ...args } })
  await call('update-function-config', { containerConcurrency: 5, maxScale: 3, applyImmediately: true })
  await call('update-app-env-variables', { set: [{ name: 'COLOR', value: 'green', isSecret: false }] })
  const contactPoint = {
    name: 'Mine',
    type: 'webhook',
    config: { url: 'https://hooks.example.com/longshore' },
  }
  await agent.callTool({ name: 'create-contact-point', arguments: { accountId, ...contactPoint } })
  await agent.close()
}

/** Requests in waves, so that the function scales up and down. */
async function load({ gateway }, host, shopHost) {
  const { hostname, port } = new URL(gateway)
  const send = (pathname, to) =>
    new Promise((resolve) => {
      const request = http.get({ hostname, port, path: pathname, headers: { host: to } }, (answer) => {
        answer.resume().once('close', resolve)
      })
      request.once('error', resolve)
    })
  for (let second = 0; second < loadSeconds; second += 1) {
    const wave = 6 + Math.round(5 * Math.sin(second / 7))
    void Promise.all(Array.from({ length: wave }, () => send(`/?ms=${60 + 15 * wave}`, host)))
    void Promise.all(['/', '/cart', '/checkout'].map((pathname) => send(pathname, shopHost)))
    await delay(1_000)
  }
}

if (!chromiumPath) throw new Error(noBrowser)
const home = await mkdtemp(path.join(os.tmpdir(), 'longshore-screenshots-'))
const platform = await startPlatform(home)
const browser = await chromium.launch({
  executablePath: chromiumPath,
  args: chromiumArgs,
})
try {
  const rest = restOf(platform)
  const { accountId } = platform
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage()
  await page.goto(platform.signInUrl)
  await page.getByRole('button', { name: 'Create sample function' }).waitFor()
  await picture(page, 'first-run-light')
  await page.emulateMedia({ colorScheme: 'dark' })
  await picture(page, 'first-run-dark')
  await firstRun(page)
  const [{ cliEnvName, appEnvId }] = (await rest('GET', '/app-envs', { accountId })).appEnvs
  const { hosts } = await rest('GET', '/app-env', { appEnvId })
  const deployed = await deployShop(rest, accountId)
  const token = await addPeople(rest, accountId, appEnvId, deployed)
  const database = await addDatabase(rest, accountId)
  await agentWorks(platform, token, cliEnvName)
  await load(platform, hosts[0].host, deployed.host)
  const { entries } = await rest('GET', '/audit', { accountId, surface: 'mcp' })
  await takePictures(browser, platform, {
    overview: '/',
    environment: `/environments/${cliEnvName}`,
    findings: `/environments/${deployed.envName}`,
    probe: `/environments/${cliEnvName}/scaling`,
    ...(database ? { database: `/environments/${database}/database` } : {}),
    activity: '/activity',
    session: `/sessions/${entries[0].sessionId}`,
    members: '/members',
    tokens: '/tokens',
    system: '/system',
    ...(process.argv.includes('--all') ? { settings: '/settings', agents: '/agents', start: '/start' } : {}),
  })
} finally {
  await browser.close()
  await platform.stop()
  await rm(home, { recursive: true, force: true })
}
