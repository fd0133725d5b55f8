// A scripted platform: the part of the REST API that is needed to simulate each outcome of a deployment.
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Script {
  isFunction?: boolean
  app?: Record<string, unknown>
  /** Answers of the status read after the deployment began, one each; the last one stays. */
  statuses?: {
    status: string
    deployment: string
    failure?: { reason: string; message: string }
    contentId?: string
  }[]
  isJob?: boolean
  /** Command of the job. */
  command?: string
  buildLog?: string[]
  runtimeLog?: string[]
  /** Rejects an operation, by `METHOD /path`. */
  refuse?: Record<string, { status: number; body: unknown; dryRunOnly?: boolean }>
}

interface Heard {
  call: string
  query: Record<string, string>
  body: unknown
  token: string | undefined
  surface: string | undefined
  dryRun: boolean
}

export interface ScriptedPlatform {
  url: string
  heard: Heard[]
  uploads: Buffer[]
  close(): Promise<void>
}

export async function startScriptedPlatform(script: Script): Promise<ScriptedPlatform> {
  const heard: Heard[] = []
  const uploads: Buffer[] = []
  const server = http.createServer((request, response) => {
    void answer(request).then(({ status, body }) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const rows = createRows(script, url)

  async function answer(request: http.IncomingMessage): Promise<{ status: number; body: unknown }> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const bytes = Buffer.concat(chunks)
    const requested = new URL(request.url ?? '/', url)
    if (requested.pathname === '/uploads/secret') {
      uploads.push(bytes)
      const refusal = script.refuse?.['PUT /uploads']
      return refusal ?? { status: 200, body: { message: 'ok' } }
    }
    const call = `${request.method} ${requested.pathname.replace('/api/public/v1', '')}`
    const dryRun = request.headers['dry-run'] === 'true'
    heard.push({
      call,
      query: Object.fromEntries(requested.searchParams),
      body: bytes.length > 0 ? JSON.parse(bytes.toString()) : null,
      token: request.headers.authorization,
      surface: request.headers['longshore-surface'] as string | undefined,
      dryRun,
    })
    const refusal = script.refuse?.[call]
    if (refusal && (dryRun || !refusal.dryRunOnly)) return refusal
    const row = rows[call]
    return row ? { status: 200, body: row() } : { status: 404, body: { error: 'Not found' } }
  }

  return {
    url,
    heard,
    uploads,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const hosts = [
  { host: 'shop-prod.fn.localhost', url: 'http://shop-prod.fn.localhost:4480', kind: 'function' },
]

const logLine = (type: string) => (message: string, index: number) => ({
  timestamp: `2026-11-01T00:00:0${index % 10}.000Z`,
  stream: 'stdout',
  type,
  podName: null,
  contentId: 'dep_1',
  message,
})

function kindOf({ isFunction = true, isJob = false, command }: Script) {
  const effectiveJobConfig = { command: { value: command ?? null, from: 'app' } }
  return { isFunction, isJob, dockerPreset: isFunction ? 'FUNCTION' : 'CUSTOM', effectiveJobConfig }
}

function createRows(script: Script, url: string): Record<string, () => unknown> {
  let readings = 0
  const kind = kindOf(script)
  const appEnv = { appEnvId: 'env_1', name: 'prod', status: 'PENDING' }
  const begun = { success: true, message: 'begun', appEnv, contentId: 'dep_1', version: 3 }
  const statuses = script.statuses ?? [{ status: 'RUNNING', deployment: 'DEPLOYED' }]
  return {
    'GET /app-env': () => ({
      ...appEnv,
      appId: 'app_1',
      cliEnvName: 'shop-prod',
      ...kind,
    }),
    'GET /app': () => ({
      contextDir: null,
      dockerfilePath: null,
      customDockerfileContent: null,
      ...script.app,
    }),
    'PATCH /app-env/function-config': () => ({ success: true, appEnv, appliedImmediately: false }),
    'POST /app-env/request-storage-key': () => ({
      uploadUrl: `${url}/uploads/secret`,
      storageKey: 'upl_1',
      envUrl: url,
      expiresAt: '2026-11-01T00:15:00.000Z',
    }),
    'POST /app-env/notify-upload': () => begun,
    'POST /app-env/deploy-image': () => begun,
    'POST /app-env/redeploy': () => begun,
    'GET /app-env/status': () => {
      const now = statuses[Math.min(readings, statuses.length - 1)]!
      readings += 1
      const contentId = now.contentId ?? 'dep_1'
      const version = contentId === 'dep_1' ? 3 : 4
      return {
        appEnvId: 'env_1',
        status: now.status,
        currentContentId: 'dep_0',
        currentVersion: now.deployment === 'DEPLOYED' ? version : 2,
        currentDeployment: {
          contentId,
          version,
          status: now.deployment,
          type: 'BUILD',
          failure: now.failure ?? null,
        },
        containers: { desired: 1, running: 1, ready: 1 },
        pendingChanges: { hasBuildChanges: false, hasDeployChanges: false, deployPendingChanges: [] },
        hosts,
      }
    },
    'GET /logs': () => ({ appEnvId: 'env_1', logs: logsOf(), cursor: null, truncated: false }),
  }
  function logsOf() {
    // One more line of the build log with each read; container output follows after the build.
    const build = (script.buildLog ?? []).slice(0, readings).map(logLine('BUILD'))
    const failed = statuses[Math.min(readings, statuses.length) - 1]?.deployment === 'FAILED'
    return failed && script.runtimeLog ? script.runtimeLog.map(logLine('RUNTIME')) : build
  }
}
