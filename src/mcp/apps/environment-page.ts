const style = `
:root { color-scheme: light dark; --line: #8886; --accent: #2563eb; --bad: #b91c1c; }
@media (prefers-color-scheme: dark) { :root { --accent: #8ab4ff; --bad: #ff9b9b; } }
body { font: 14px/1.45 system-ui, sans-serif; margin: 0; padding: 12px; }
h1 { font-size: 16px; margin: 0 0 4px; } p { margin: 4px 0; }
table { border-collapse: collapse; width: 100%; margin: 8px 0; }
th, td { text-align: left; padding: 3px 8px 3px 0; border-bottom: 1px solid var(--line); vertical-align: top;
  overflow-wrap: anywhere; font-weight: normal; }
del { color: var(--bad); } ins { color: var(--accent); text-decoration: none; }
svg { width: 100%; height: 64px; display: block; } polyline { fill: none; stroke: var(--accent); stroke-width: 1.5; }
figure { margin: 8px 0; } figcaption { font-size: 12px; }
button { font: inherit; padding: 6px 14px; border: 1px solid var(--accent); border-radius: 6px; background: none;
  color: inherit; cursor: pointer; }`

/** Talks to the host in JSON-RPC over postMessage, as the extension MCP Apps defines. */
const bridge = `
let nextId = 1
const waiting = new Map()
const post = (message) => parent.postMessage({ jsonrpc: '2.0', ...message }, '*')
function ask(method, params) {
  const id = nextId++
  post({ id, method, params })
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }))
}
const callTool = (name, args) => ask('tools/call', { name, arguments: args })
const seen = { tool: undefined, args: {} }
addEventListener('message', ({ source, data }) => {
  if (source !== parent || data?.jsonrpc !== '2.0') return
  if (data.method === undefined) {
    const { resolve, reject } = waiting.get(data.id) ?? {}
    waiting.delete(data.id)
    if (data.error) reject?.(new Error(data.error.message))
    else resolve?.(data.result)
  } else if (data.method === 'ui/notifications/tool-input') seen.args = data.params?.arguments ?? {}
  else if (data.method === 'ui/notifications/tool-result') show(data.params)
  else if (data.id !== undefined) {
    const known = data.method === 'ping' || data.method === 'ui/resource-teardown'
    post(known ? { id: data.id, result: {} } : { id: data.id, error: { code: -32601, message: 'Method not found' } })
  }
})`

/** Everything is rendered as text, so that text of tenants never becomes markup. */
const elements = `
function el(name, text, ...children) {
  const made = document.createElement(name)
  if (text !== '') made.textContent = text
  made.append(...children)
  return made
}
function table(rows) {
  const body = rows.map(([head, ...cells]) => {
    const th = el('th', head)
    th.scope = 'row'
    return el('tr', '', th, ...cells.map((cell) => (cell instanceof Node ? el('td', '', cell) : el('td', String(cell)))))
  })
  return el('table', '', el('tbody', '', ...body))
}
const shownValue = (value) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? 'none'))
function replace(...children) {
  document.querySelector('main').replaceChildren(...children)
  const { scrollWidth: width, scrollHeight: height } = document.documentElement
  post({ method: 'ui/notifications/size-changed', params: { width, height } })
}`

const views = `
function chart({ metric, unit, points }) {
  const values = points.map(({ value }) => value)
  const most = Math.max(...values, 0) || 1
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg')
  svg.setAttribute('viewBox', '0 0 300 64')
  svg.setAttribute('preserveAspectRatio', 'none')
  svg.setAttribute('role', 'img')
  svg.setAttribute('aria-label', metric + ' over time')
  const line = document.createElementNS('http://www.w3.org/2000/svg', 'polyline')
  const x = (index) => (index * 300) / Math.max(1, values.length - 1)
  line.setAttribute('points', values.map((value, index) => x(index) + ',' + (62 - (value / most) * 60)).join(' '))
  svg.append(line)
  const now = values.length === 0 ? 'no data' : values.at(-1) + ' ' + unit + ' now, at most ' + most + ' ' + unit
  return el('figure', '', svg, el('figcaption', metric + ': ' + now))
}
async function charts(appEnvId) {
  const read = (metric) => callTool('get-app-env-metrics-series', { appEnvId, metric }).catch(() => null)
  const all = await Promise.all(['ingress_request_rate', 'ingress_5xx_rate', 'cpu_percent'].map(read))
  return all.flatMap((one) => (one?.structuredContent?.points?.length ? [chart(one.structuredContent)] : []))
}
async function showStatus(status, point) {
  const { containers, health, hosts = [] } = status
  const rows = [
    ['Status', status.status],
    ['Version', status.currentVersion ?? 'none'],
    ['Containers', containers.ready + ' ready, ' + containers.running + ' running, ' + containers.desired + ' desired'],
    ...(health ? [['Health', health.verdict]] : []),
    ...hosts.map(({ url }) => ['Address', url]),
  ]
  const parts = [el('h1', status.cliEnvName), el('p', point), table(rows)]
  replace(...parts)
  replace(...parts, ...(await charts(status.appEnvId)))
}
function showDryRun({ changes, effects }, point) {
  const rows = changes.map(({ path, before, after }) => [path, el('del', shownValue(before)), el('ins', shownValue(after))])
  const parts = [el('h1', 'This change is not made yet'), ...effects.map((effect) => el('p', effect)), table(rows)]
  const { tool, args } = seen
  if (tool === undefined) return replace(...parts)
  const button = el('button', 'Make this change')
  button.onclick = async () => {
    button.disabled = true
    const { dryRun: _, ...real } = args
    show(await callTool(tool, real).catch((error) => ({ isError: true, content: [{ text: error.message }] })))
  }
  replace(...parts, button)
}
function show({ structuredContent: facts = {}, content = [], isError }) {
  const [point = '', ...rest] = (content[0]?.text ?? '').split('\\n')
  if (isError) replace(el('h1', point), ...rest.slice(0, 3).map((line) => el('p', line)))
  else if (facts.dryRun === true) showDryRun(facts, point)
  else if (Array.isArray(facts.points)) replace(el('h1', point), chart(facts))
  else if (facts.containers && facts.cliEnvName) void showStatus(facts, point)
  else replace(el('h1', point))
}
ask('ui/initialize', {
  protocolVersion: '2026-01-26',
  appInfo: { name: 'longshore-environment', version: '1' },
  appCapabilities: {},
}).then(({ hostContext }) => {
  seen.tool = hostContext?.toolInfo?.tool?.name
  post({ method: 'ui/notifications/initialized', params: {} })
})`

/**
 * The page of `ui://longshore/environment`: status and charts of an environment, and a change before it is made. It runs in
 * the sandbox of the host, loads nothing, and calls tools through the host, so the host's and our checks apply.
 */
export const environmentPage = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Environment</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<style>${style}</style></head>
<body><main><p>Waiting for the result.</p></main>
<script type="module">${bridge}${elements}${views}</script></body></html>
`
