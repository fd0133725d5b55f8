import http from 'node:http'
import { restartAppEnv, scaleAppEnvContainers } from '../../src/contract/app-env-actions.ts'
import { getAppEnvPods } from '../../src/contract/app-env-reads.ts'
import { createAppEnv, getAppEnv } from '../../src/contract/app-envs.ts'
import { createApp } from '../../src/contract/apps.ts'
import { deploy, noWindow, untilDeployed } from '../platform/deploy.ts'
import type { Installation } from '../platform/installation.ts'
import { untilRead } from '../until.ts'

interface RollingOutcome {
  requests: number
  /** One entry for each lost request. */
  lost: string[]
  /** Versions that answered, in the order in which they first did. */
  versions: number[]
}

const server = (version: number) => `
const server = require('node:http').createServer((request, response) => setTimeout(() => response.end('${version}'), 5))
server.listen(process.env.PORT)
process.on('SIGTERM', () => server.close(() => process.exit(0)))
`

/** A program that answers with its version. */
export function versionSource(base: string, version: number): Record<string, string> {
  const dockerfile = `FROM ${base}\nWORKDIR /app\nCOPY server.js .\nCMD ["node", "server.js"]\n`
  return { Dockerfile: dockerfile, 'server.js': server(version) }
}

interface RollingPlan {
  deploys: number
  /** Restarts after the deployments: every container is replaced with a new one. */
  restarts: number
  /** Keep-alive connections that ask without a pause. */
  connections: number
  /** The load continues until this many requests were answered. */
  atLeast: number
}

/** Deploys and restarts an app of two containers under load. */
export async function rollUnderLoad(
  installation: Installation,
  base: string,
  { deploys, restarts, connections, atLeast }: RollingPlan,
): Promise<RollingOutcome> {
  const client = installation.client()
  const { accountId } = installation.ready
  const { appId } = await client.call(createApp, { name: 'rolling', accountId, port: 8080, ...noWindow })
  const { appEnvId } = await client.call(createAppEnv, { accountId, appId, name: 'prod', region: 'local' })
  const { hosts } = await client.call(getAppEnv, { appEnvId })
  const release = async (version: number) => {
    await deploy(installation, appEnvId, versionSource(base, version))
    const { currentDeployment } = await untilDeployed(installation, appEnvId)
    if (currentDeployment?.status !== 'DEPLOYED') throw new Error(JSON.stringify(currentDeployment))
  }
  await client.call(scaleAppEnvContainers, { appEnvId, containers: 2 })
  await release(0)
  const { outcome, end } = loadOn(installation, hosts[0]?.host ?? '', connections)
  try {
    for (let version = 1; version <= deploys; version++) await release(version)
    for (let restart = 0; restart < restarts; restart++) await restartOnce(installation, appEnvId)
    await untilRead(
      async () => outcome.requests,
      (requests) => requests >= atLeast,
      `${atLeast} requests`,
    )
  } finally {
    await end()
  }
  return outcome
}

/** Keep-alive connections that ask without a pause until `end`. */
export function loadOn(
  installation: Installation,
  host: string,
  connections: number,
): { outcome: RollingOutcome; end: () => Promise<void> } {
  const outcome: RollingOutcome = { requests: 0, lost: [], versions: [] }
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections })
  let over = false
  const asking = Array.from({ length: connections }, async () => {
    while (!over) await askOnce(installation, agent, host, outcome)
  })
  const end = async () => {
    over = true
    await Promise.all(asking)
    agent.destroy()
  }
  return { outcome, end }
}

/** Restarts and waits until none of the former containers is left. */
async function restartOnce(installation: Installation, appEnvId: string): Promise<void> {
  const client = installation.client()
  const running = async () => {
    const { pods } = await client.call(getAppEnvPods, { appEnvId })
    return pods.filter(({ status }) => status === 'Pending' || status === 'Running').map(({ podId }) => podId)
  }
  const former = await running()
  await client.call(restartAppEnv, { appEnvId })
  await untilDeployed(installation, appEnvId)
  const fresh = (podIds: string[]) => podIds.length >= 2 && !podIds.some((podId) => former.includes(podId))
  await untilRead(running, fresh, 'fresh containers only')
}

async function askOnce(
  installation: Installation,
  agent: http.Agent,
  host: string,
  outcome: RollingOutcome,
): Promise<void> {
  outcome.requests += 1
  const { hostname, port } = new URL(installation.ready.gateway)
  await new Promise<void>((resolve) => {
    const lose = (why: string) => {
      outcome.lost.push(why)
      resolve()
    }
    const request = http.get({ hostname, port, agent, headers: { host } }, (answer) => {
      let body = ''
      answer.setEncoding('utf8').on('data', (text: string) => {
        body += text
      })
      answer.once('error', (error) => lose(error.message))
      answer.once('end', () => {
        if (answer.statusCode !== 200) return lose(`${answer.statusCode} ${body.slice(0, 200)}`)
        if (!outcome.versions.includes(Number(body))) outcome.versions.push(Number(body))
        resolve()
      })
    })
    request.once('error', (error) => lose(error.message))
  })
}
