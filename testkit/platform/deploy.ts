import { gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'
import { getAppEnvStatus } from '../../src/contract/app-env-reads.ts'
import { createAppEnv, getAppEnv } from '../../src/contract/app-envs.ts'
import { createApp } from '../../src/contract/apps.ts'
import { notifyCodeUpload, requestDeployStorageKey } from '../../src/contract/deployments.ts'
import type { OutputOf } from '../../src/contract/operation.ts'
import { untilRead } from '../until.ts'
import type { Installation } from './installation.ts'

/** Says its peak concurrency and process id; `?ms=` holds the answer. */
export const sampleServer = `
const http = require('http'); let now = 0, peak = 0
http.createServer(async (request, response) => {
  now += 1; peak = Math.max(peak, now)
  const ms = Number(new URL(request.url, 'http://x').searchParams.get('ms') ?? 0)
  await new Promise((resolve) => setTimeout(resolve, ms))
  now -= 1
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ container: require('os').hostname() + ':' + process.pid, peak, color: process.env.COLOR }))
}).listen(process.env.PORT, () => console.log('listening on ' + process.env.PORT))
`

export function sampleSource(base: string, server = sampleServer): Record<string, string> {
  return {
    Dockerfile: `FROM ${base}\nWORKDIR /app\nCOPY server.js .\nCMD ["node", "server.js"]\n`,
    'server.js': server,
  }
}

export function tgz(files: Record<string, string>): Promise<Buffer> {
  const archive = pack()
  for (const [name, text] of Object.entries(files)) archive.entry({ name }, text)
  archive.finalize()
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    archive.on('data', (part) => chunks.push(part as Buffer))
    archive.once('end', () => resolve(gzipSync(Buffer.concat(chunks))))
    archive.once('error', reject)
  })
}

/** For apps and environments whose tests do not need the stability window of deployments. */
export const noWindow = { healthCheck: { stabilitySeconds: 0 } }

/** A function environment with `containerConcurrency` 10, not deployed yet. */
export async function makeFunction(
  installation: Installation,
  name: string,
  settings: Record<string, number> = {},
  region = 'local',
) {
  const client = installation.client()
  const { accountId } = installation.ready
  const { appId } = await client.call(createApp, { name, accountId, port: 8080, dockerPreset: 'FUNCTION' })
  const { appEnvId } = await client.call(createAppEnv, {
    accountId,
    appId,
    name: 'prod',
    region,
    functionConfig: { containerConcurrency: 10, maxScale: 3, idleTimeoutSeconds: 300, ...settings },
    ...noWindow,
  })
  const { hosts } = await client.call(getAppEnv, { appEnvId })
  return { appId, appEnvId, host: hosts[0]?.host ?? '' }
}

export async function upload(
  installation: Installation,
  appEnvId: string,
  files: Record<string, string>,
): Promise<string> {
  const client = installation.client()
  const { uploadUrl, storageKey } = await client.call(requestDeployStorageKey, { appEnvId })
  const answer = await fetch(uploadUrl, { method: 'PUT', body: new Uint8Array(await tgz(files)) })
  if (!answer.ok) throw new Error(`upload answered ${answer.status}: ${await answer.text()}`)
  return storageKey
}

export async function deploy(installation: Installation, appEnvId: string, files: Record<string, string>) {
  const storageKey = await upload(installation, appEnvId, files)
  return installation.client().call(notifyCodeUpload, { appEnvId, storageKey })
}

export type Status = OutputOf<typeof getAppEnvStatus>

export function untilDeployed(installation: Installation, appEnvId: string): Promise<Status> {
  const client = installation.client()
  return untilRead(
    () => client.call(getAppEnvStatus, { appEnvId }),
    (status) =>
      status.currentDeployment?.status === 'DEPLOYED' || status.currentDeployment?.status === 'FAILED',
    'a finished deployment',
  )
}
