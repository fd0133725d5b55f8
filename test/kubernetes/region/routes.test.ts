import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAppEnv, getAppEnv } from '../../../src/contract/app-envs.ts'
import { createApp } from '../../../src/contract/apps.ts'
import { deployAppEnvImage } from '../../../src/contract/deployments.ts'
import { getJobRun, startJobRun } from '../../../src/contract/jobs.ts'
import { clusterNamespace } from '../../../src/domain/environments/cluster-names.ts'
import { randomText } from '../../../src/domain/ids.ts'
import { cluster, kubectl } from '../../../testkit/kubernetes/cluster.ts'
import { ClusterInstallation } from '../../../testkit/kubernetes/cluster-installation.ts'
import { shellImage, webScript } from '../../../testkit/kubernetes/images.ts'
import { noWindow, untilDeployed } from '../../../testkit/platform/deploy.ts'
import { untilRead } from '../../../testkit/until.ts'

const limitMs = 120_000
/** `namespace/name/listener@address` of a Gateway that serves without TLS; without it its test is left out. */
const [gateway = '', gatewayAddress] = process.env.GATEWAY?.split('@') ?? []
const [namespace, name, listener] = gateway.split('/')
/** Regions of the same cluster, each with namespaces of its own. */
const own = randomText(6)
const prefixOf = (region: string) => `lst${own}-${region}-`

function region(name: string, settings: object): object {
  return {
    ...{ name, engine: 'kubernetes', kubeconfig: cluster.kubeconfig, namespacePrefix: prefixOf(name) },
    ...{ appDomain: `${name}-${own}.${cluster.domain}`, functionDomain: cluster.domain },
    ...settings,
  }
}

const ingressClass = 'traefik'
// Traefik answers TLS where its entry point or an annotation says so.
const annotations = { route: { 'traefik.ingress.kubernetes.io/router.tls': 'true' } }
const regions = {
  controller: region('controller', { ingressClass, annotations, tls: 'default' }),
  issued: region('issued', { ingressClass, annotations, tls: { clusterIssuer: 'by-hand' } }),
  strict: region('strict', { ingressClass, publicPort: 80, podSecurity: 'restricted' }),
  ...(gatewayAddress
    ? { gated: region('gated', { publicPort: 80, gateway: { namespace, name, listener } }) }
    : {}),
}

/** The status, and the fingerprint of the certificate where the address has one. */
function answerOf(host: string, address: string): Promise<{ status: number; fingerprint?: string }> {
  const url = new URL(address)
  const options = { hostname: url.hostname, port: url.port, headers: { host } }
  return new Promise((resolve, reject) => {
    const take = (answer: http.IncomingMessage) => {
      answer.resume()
      const fingerprint = url.protocol === 'https:' ? peerOf(answer) : undefined
      resolve({ status: answer.statusCode ?? 0, ...(fingerprint ? { fingerprint } : {}) })
    }
    const tls = { servername: host, rejectUnauthorized: false, agent: false }
    const request =
      url.protocol === 'https:' ? https.get({ ...options, ...tls }, take) : http.get(options, take)
    request.once('error', reject)
  })
}

function peerOf({ socket }: http.IncomingMessage): string {
  return (socket as unknown as import('node:tls').TLSSocket).getPeerCertificate().fingerprint256
}

describe.skipIf(!cluster.kubeconfig || !cluster.registry || !cluster.ingress)('ways into a cluster', () => {
  let installation: ClusterInstallation
  beforeAll(async () => {
    installation = new ClusterInstallation(
      { LONGSHORE_CLOCK_SCALE: '60' },
      { others: Object.values(regions) },
    )
    await installation.start()
  })
  afterAll(async () => {
    await installation.dispose()
    for (const region of Object.keys(regions)) {
      const found = (await kubectl(['get', 'namespaces', '-o', 'name'])).split('\n')
      for (const one of found.filter((line) => line.includes(prefixOf(region))))
        await kubectl(['delete', one, '--wait=false'])
    }
  })

  async function deployed(region: string, image: string, values: object = {}, config: object = noWindow) {
    const client = installation.client()
    const { accountId } = installation.ready
    const app = { name: `${region} ${randomText(4)}`, accountId, useImage: true, ...values }
    const { appId } = await client.call(createApp, app)
    const { appEnvId } = await client.call(createAppEnv, {
      accountId,
      appId,
      name: 'prod',
      region,
      ...config,
    })
    await client.call(deployAppEnvImage, { appEnvId, image })
    const { currentDeployment } = await untilDeployed(installation, appEnvId)
    const [host] = (await client.call(getAppEnv, { appEnvId })).hosts
    return { appEnvId, host: host?.host ?? '', failure: currentDeployment?.failure ?? null }
  }
  const untilAnswer = (host: string, address: string, fingerprint?: string) =>
    untilRead(
      () => answerOf(host, address),
      (answer) => answer.status === 200 && (fingerprint === undefined || answer.fingerprint === fingerprint),
      `an answer of ${host}`,
      limitMs,
    )
  const overTls = () => cluster.ingress!.replace('http:', 'https:')

  it('tls: default, with the certificate of the ingress controller', async () => {
    const { host, failure } = await deployed('controller', await shellImage('routes', webScript), {
      port: 8080,
    })
    expect(failure).toBeNull()
    expect((await untilAnswer(host, overTls())).fingerprint).toMatch(/:/)
  })

  it('tls by an issuer: with the certificate of the Secret that it makes for each app', async () => {
    const { host, failure } = await deployed('issued', await shellImage('routes', webScript), { port: 8080 })
    expect(failure).toBeNull()
    const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-routes-'))
    const [key, crt] = ['tls.key', 'tls.crt'].map((file) => path.join(dir, file)) as [string, string]
    const subject = ['-subj', `/CN=${host.slice(0, 60)}`, '-addext', `subjectAltName=DNS:${host}`]
    const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', ...subject]
    execFileSync('openssl', [...made, '-keyout', key, '-out', crt], { stdio: 'ignore' })
    const fingerprint = execFileSync('openssl', ['x509', '-in', crt, '-noout', '-fingerprint', '-sha256'])
    const at = clusterNamespace(prefixOf('issued'), installation.ready.accountId)
    await kubectl(['apply', '-f', '-'], {
      ...{ apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls' },
      metadata: { name: `${host.split('.')[0]}-tls`, namespace: at },
      stringData: { 'tls.key': readFileSync(key, 'utf8'), 'tls.crt': readFileSync(crt, 'utf8') },
    })
    rmSync(dir, { recursive: true })
    await untilAnswer(host, overTls(), fingerprint.toString().trim().split('=')[1])
  })

  it.skipIf(!gatewayAddress)('by a route of a Gateway', async () => {
    const { host, failure } = await deployed('gated', await shellImage('routes', webScript), { port: 8080 })
    expect(failure).toBeNull()
    await untilAnswer(host, gatewayAddress!)
  })

  it('podSecurity restricted: runs an app, a function and a job of another user, and says why not root', async () => {
    // Of the folders of the image, the user may write nowhere.
    const script = webScript.replaceAll('/tmp/', '/dev/shm/')
    const image = await shellImage('routes-user-2', script, '65532')
    const [app, func, job, root] = await Promise.all([
      deployed('strict', image, { port: 8080 }),
      deployed(
        'strict',
        image,
        { port: 8080, dockerPreset: 'FUNCTION' },
        { functionConfig: { idleTimeoutSeconds: 300 } },
      ),
      deployed('strict', image, { dockerPreset: 'JOB' }, {}),
      deployed('strict', await shellImage('routes', webScript), { port: 8080 }),
    ])
    expect([app.failure, func.failure, job.failure]).toEqual([null, null, null])
    expect(root.failure?.message).toContain('another user than root')
    for (const { host } of [app, func]) await untilAnswer(host, cluster.ingress!)
    const client = installation.client()
    const { jobRunId } = (
      await client.call(startJobRun, { appEnvId: job.appEnvId, command: 'id -u', shell: true })
    ).jobRun
    const over = await untilRead(
      async () => (await client.call(getJobRun, { jobRunId })).jobRun,
      ({ finishedAt }) => finishedAt !== null,
      'the end of the job',
      limitMs,
    )
    expect(over.status).toBe('SUCCEEDED')
  })
})
