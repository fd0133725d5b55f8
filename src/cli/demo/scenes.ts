import path from 'node:path'
import { readableBytes } from '../../amounts.ts'
import { listAccounts } from '../../contract/accounts.ts'
import {
  applyAppEnvChanges,
  scaleAppEnvContainers,
  updateFunctionConfig,
} from '../../contract/app-env-actions.ts'
import { getAppEnvPods, getAppEnvStatus } from '../../contract/app-env-reads.ts'
import { createAppEnv, getAppEnv } from '../../contract/app-envs.ts'
import { createApp } from '../../contract/apps.ts'
import { notifyCodeUpload, requestDeployStorageKey } from '../../contract/deployments.ts'
import { listRegions } from '../../contract/regions.ts'
import { listSource, packSource } from '../deploy/pack-source.ts'
import { uploadArchive } from '../deploy/upload-archive.ts'
import { ToolRefusal } from './agent.ts'
import { prepareSource } from './source.ts'
import type { Stage } from './stage.ts'
import { addressOf, burst, type FunctionAddress, get, peaksOf } from './traffic.ts'

const demoScaling = {
  containerConcurrency: 10,
  maxScale: 5,
  minScale: 0,
  idleTimeoutSeconds: 300,
} as const
const requests = 50
const holdMs = 1_500
/** Knative decides every two seconds, and the first container must still be busy then. */
const clusterHoldMs = 5_000
/** The longest way to zero; Knative adds its own grace period to the idle time. */
const quietMs = 30_000
const clusterQuietMs = 150_000
/** Name of the demo's environment, which deleting it requires. */
const demoEnvName = 'prod'

/** A check of the demo failed. */
export class DemoFailure extends Error {}

export function expect(holds: boolean, sentence: string): asserts holds {
  if (!holds) throw new DemoFailure(sentence)
}

/** Results of earlier steps that later steps use. */
export interface Plot {
  accountId: string
  region: string
  appEnvId: string
  address: FunctionAddress
  firstInstance: string
}

export function newPlot(): Plot {
  const address = { host: '', port: 0, hostHeader: '' }
  return { accountId: '', region: '', appEnvId: '', address, firstInstance: '' }
}

/** Runs all steps of the agent; throws `DemoFailure` at the first failed check. */
export async function playStory(stage: Stage): Promise<void> {
  const plot = newPlot()
  await lookAround(stage, plot)
  await create(stage, plot)
  const sourceDir = await prepareSource(stage)
  await deploy(stage, plot, sourceDir)
  const stopSampling = sampleContainers(stage, plot.appEnvId)
  try {
    await firstResponse(stage, plot)
    await underLoad(stage, plot)
    await toZeroAndBack(stage, plot)
    await whatFunctionsRefuse(stage, plot)
    await reconfigure(stage, plot)
  } finally {
    await stopSampling()
  }
}

export async function lookAround(stage: Stage, plot: Plot): Promise<void> {
  const { agent, step, created } = stage
  await step('list-accounts, list-regions', async () => {
    const { accounts } = await agent.call(listAccounts, {})
    const { regions } = await agent.call(listRegions, {})
    const region = regions.find((one) => one.functionDomain !== null)
    expect(accounts[0] !== undefined, 'The first admin has no account.')
    expect(region !== undefined, 'No region has a function domain (F5).')
    plot.accountId = accounts[0].accountId
    plot.region = region.region
    created.engine = region.engine
    return `account ${accounts[0].name}, region ${region.region}, engine ${region.engine}`
  })
}

export async function create({ agent, step, created }: Stage, plot: Plot): Promise<void> {
  let appId = ''
  await step('create-app', async () => {
    const input = { name: 'hello', accountId: plot.accountId, port: 8080, dockerPreset: 'FUNCTION' }
    appId = (await agent.call(createApp, input)).appId
    return `a FUNCTION on port 8080: ${appId}`
  })
  await step('create-app-env', async () => {
    const input = { accountId: plot.accountId, appId, name: demoEnvName, region: plot.region }
    plot.appEnvId = (await agent.call(createAppEnv, { ...input, functionConfig: demoScaling })).appEnvId
    created.appEnvId = plot.appEnvId
    return `at most ${demoScaling.containerConcurrency} requests in each of at most ${demoScaling.maxScale} containers`
  })
}

export async function deploy(stage: Stage, plot: Plot, sourceDir: string): Promise<void> {
  const { agent, step, signal } = stage
  const { appEnvId } = plot
  let uploadUrl = ''
  let storageKey = ''
  await step('request-deploy-storage-key', async () => {
    ;({ uploadUrl, storageKey } = await agent.call(requestDeployStorageKey, {
      appEnvId,
      fileExtension: '.tgz',
    }))
    return 'an address for one upload, valid for 15 minutes'
  })
  await step('PUT of the packed source', async () => {
    const listing = await listSource(sourceDir)
    const packed = await packSource(listing, path.join(stage.workDir, 'source.tgz'), { signal })
    await uploadArchive({ ...packed, uploadUrl, baseUrl: uploadUrl, signal, onSent: () => {} })
    return `${listing.files.length} files, ${readableBytes(packed.bytes)}`
  })
  await step('notify-code-upload', async (show) => {
    const options = { signal, onProgress: show }
    const answer = await agent.call(notifyCodeUpload, { appEnvId, storageKey, wait: true }, options)
    return `built from its Dockerfile, version ${answer.version} serves`
  })
  await step('get-app-env-status', async () => {
    const status = await agent.call(getAppEnvStatus, { appEnvId })
    expect(status.status === 'RUNNING', `The environment is ${status.status}, not RUNNING.`)
    const host = status.hosts.find((one) => one.kind === 'function')
    expect(host !== undefined, 'The function has no address.')
    plot.address = addressOf(host.url, stage.cluster)
    return `RUNNING at ${host.url}`
  })
}

/** Reads the number of containers a few times a second; returns a function that stops it. */
function sampleContainers(stage: Stage, appEnvId: string): () => Promise<void> {
  let going = true
  const startedMs = performance.now()
  const sampling = (async () => {
    while (going && !stage.signal.aborted) {
      // A missed sample only lowers the resolution of the chart.
      const status = await stage.agent.call(getAppEnvStatus, { appEnvId }).catch(() => null)
      if (status)
        stage.samples.push({ atMs: performance.now() - startedMs, value: status.containers.running })
      await pause(100)
    }
  })()
  return async () => {
    going = false
    await sampling
  }
}

async function firstResponse({ step, signal }: Stage, plot: Plot): Promise<void> {
  await step('HTTP request through the gateway', async () => {
    const reply = await get(plot.address, '/', signal)
    expect(reply.status === 200, `The gateway answered ${reply.status}: ${reply.text.slice(0, 200)}`)
    expect(reply.body?.message === 'Hello from Longshore', 'The response is not from the sample function.')
    plot.firstInstance = reply.body.instance
    return `200 from instance ${reply.body.instance}`
  })
}

async function underLoad({ step, signal, cluster }: Stage, { address }: Plot): Promise<void> {
  const { containerConcurrency, maxScale } = demoScaling
  const ms = cluster ? clusterHoldMs : holdMs
  await step(`${requests} requests at once, ${ms} ms each`, async () => {
    const replies = await burst(address, `/?ms=${ms}`, requests, signal)
    const failed = replies.filter((reply) => reply.status !== 200)
    const statuses = [...new Set(failed.map((reply) => reply.status))].join(', ')
    expect(
      failed.length === 0,
      `${failed.length} of ${requests} requests failed (${statuses}): ${failed[0]?.text}`,
    )
    const peaks = peaksOf(replies)
    const most = Math.max(...peaks.values())
    expect(peaks.size <= maxScale, `${peaks.size} containers answered, more than maxScale ${maxScale}.`)
    expect(peaks.size > 1, 'Only one container answered: no container was added under load (F3).')
    expect(
      most <= containerConcurrency,
      `A container had ${most} requests at once, more than ${containerConcurrency}.`,
    )
    return `all 200, by ${peaks.size} containers with at most ${most} requests in each`
  })
}

async function toZeroAndBack(
  { agent, step, signal, cluster }: Stage,
  { appEnvId, address, firstInstance }: Plot,
) {
  await step('quiet', async () => {
    const limitMs = cluster ? clusterQuietMs : quietMs
    const deadlineMs = performance.now() + limitMs
    for (;;) {
      const { containers, status } = await agent.call(getAppEnvStatus, { appEnvId })
      if (containers.running === 0) {
        expect(status === 'RUNNING', `At zero the function is ${status} instead of RUNNING.`)
        // Long enough to be visible in the chart, and to detect a container that restarts without a request.
        await pause(700)
        const later = await agent.call(getAppEnvStatus, { appEnvId })
        expect(later.containers.running === 0, 'A container started again without any request.')
        return `scaled to zero containers, status ${status} (F1)`
      }
      expect(
        performance.now() < deadlineMs,
        `After ${limitMs / 1_000} s ${containers.running} containers still run (F1).`,
      )
      await pause(100)
      signal.throwIfAborted()
    }
  })
  await step('the next request', async () => {
    const reply = await get(address, '/', signal)
    expect(reply.status === 200, `After the cold start the gateway answered ${reply.status}: ${reply.text}`)
    expect(reply.body?.instance !== firstInstance, 'The old container answered, so it was never stopped.')
    return `200 after a cold start of ${Math.round(reply.ms)} ms (F2)`
  })
  await step('get-app-env-pods', async () => {
    const { pods } = await agent.call(getAppEnvPods, { appEnvId })
    const running = pods.filter((pod) => pod.status === 'Running').length
    expect(running === 1, `${running} pods are listed as running instead of 1.`)
    expect(pods.length > running, 'The containers that ended are not listed (F10).')
    return `${running} running, ${pods.length - running} ended ones listed too (F10)`
  })
}

async function whatFunctionsRefuse({ agent, step }: Stage, { appEnvId }: Plot): Promise<void> {
  await step('scale-app-env-containers', async () => {
    const refusal = await agent.call(scaleAppEnvContainers, { appEnvId, containers: 3 }).then(
      () => null,
      (error: unknown) => error,
    )
    expect(refusal !== null, 'Manual scaling of a function was accepted (F8).')
    if (!(refusal instanceof ToolRefusal)) throw refusal
    expect(refusal.rule === 'F8', `Rejected, but without the rule F8: ${refusal.message}`)
    return `refused with F8: ${refusal.message.split('\n')[0]?.replace(/^Error: | \(rule F8\)$/g, '')}`
  })
}

async function reconfigure({ agent, step, signal }: Stage, { appEnvId, address }: Plot): Promise<void> {
  const wanted = { containerConcurrency: 25, minScale: 1 }
  await step('update-function-config', async () => {
    const saved = await agent.call(updateFunctionConfig, { appEnvId, ...wanted })
    expect(!saved.appliedImmediately, 'The change was applied without a request to apply it.')
    const { pendingChanges } = await agent.call(getAppEnv, { appEnvId })
    expect(pendingChanges.hasDeployChanges, 'The saved change is not listed as pending.')
    return 'saved, and pending until it is applied'
  })
  await step('apply-app-env-changes', async (show) => {
    await agent.call(applyAppEnvChanges, { appEnvId, wait: true }, { signal, onProgress: show })
    const { pendingChanges, functionConfig } = await agent.call(getAppEnv, { appEnvId })
    expect(!pendingChanges.hasDeployChanges, 'Changes are still pending after they were applied.')
    expect(functionConfig?.minScale === 1, 'minScale does not have the applied value.')
    const reply = await get(address, '/', signal)
    expect(reply.status === 200, `The gateway answered ${reply.status} after the change.`)
    return `in effect: ${wanted.containerConcurrency} requests a container, one kept warm (F11)`
  })
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
