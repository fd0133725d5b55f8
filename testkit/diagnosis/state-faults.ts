import type { DiagnosisCause } from '../../src/contract/diagnosis.ts'
import { bucketOf } from '../../src/metrics/histogram.ts'
import { until } from '../platform/story.ts'
import type { DiagnosisBed } from './bed.ts'
import { nodeServer, nodeSource } from './programs.ts'
import type { Seeded } from './seeded.ts'

/** A fault of settings, traffic or surroundings: `make` answers the environment that has it. */
export interface StateFault {
  name: string
  cause: DiagnosisCause
  make(bed: DiagnosisBed): Promise<string>
  /** It concerns the whole account or region, so no other is played meanwhile. */
  alone?: true
  after?(bed: DiagnosisBed): Promise<unknown>
}

export function stateFaults(seeded: Seeded): StateFault[] {
  return [
    ...settingFaults(seeded),
    ...trafficFaults(seeded),
    ...capacityFaults(seeded),
    ...serviceFaults(seeded),
    // Last: without its engine the region does nothing else.
    engineFault(seeded),
  ]
}

const good = () => nodeSource(nodeServer())

async function served(bed: DiagnosisBed, source = good()): Promise<string> {
  const appEnvId = await bed.environment()
  await bed.deploy(appEnvId, source)
  return appEnvId
}

function settingFaults(seeded: Seeded): StateFault[] {
  const alert = { metric: 'cpu_percent', operator: 'gt', threshold: 80, duration: '1m', contactPointIds: [] }
  const alerted = async (bed: DiagnosisBed, change: object) => {
    const appEnvId = await served(bed)
    await bed.call('create-alert', { appEnvId, name: seeded.word(), ...alert, ...change })
    return appEnvId
  }
  return [
    {
      name: 'stopped by a person',
      cause: 'stopped',
      async make(bed) {
        const appEnvId = await served(bed)
        await bed.call('stop-app-env', { appEnvId })
        return appEnvId
      },
    },
    { name: 'never deployed', cause: 'stopped', make: (bed) => bed.environment() },
    {
      name: 'a variable that is only saved',
      cause: 'pending-change',
      async make(bed) {
        const appEnvId = await served(bed)
        await bed.call('update-app-env-variables', {
          appEnvId,
          set: [{ name: seeded.variable(), value: 'x' }],
        })
        return appEnvId
      },
    },
    {
      name: 'a size that is only saved',
      cause: 'pending-change',
      async make(bed) {
        const appEnvId = await served(bed)
        await bed.call('update-app-env', { appEnvId, zClouds: 2 })
        return appEnvId
      },
    },
    {
      name: 'an alert of another unit',
      cause: 'alert-misconfigured',
      async make(bed) {
        const config = { url: 'https://hooks.example.com/x' }
        const { accountId } = bed.platform
        const point = { accountId, name: seeded.word(), type: 'webhook', config }
        const { contactPoint } = await bed.call('create-contact-point', point)
        return alerted(bed, { threshold: 0.8, contactPointIds: [contactPoint.contactPointId] })
      },
    },
    {
      name: 'an alert that notifies nobody',
      cause: 'alert-misconfigured',
      make: (bed) => alerted(bed, {}),
    },
  ]
}

function trafficFaults(seeded: Seeded): StateFault[] {
  const failing = (line: string, name: string, cause: DiagnosisCause): StateFault => ({
    name,
    cause,
    async make(bed) {
      const answer = `console.error(${JSON.stringify(line)}), 'sorry'`
      const appEnvId = await served(bed, nodeSource(nodeServer(`(${answer})`, '', '500')))
      await bed.measured([{ appEnvId, containers: [], ingress: await bed.load(appEnvId, 20) }])
      await bed.printed(appEnvId, 21)
      return appEnvId
    },
  })
  return [
    failing(`${seeded.word()} went wrong`, 'errors of the program', 'error-burst'),
    failing(
      `Error: connect ECONNREFUSED 127.0.0.1:${seeded.number(2, 19)}`,
      'errors for want of a service',
      'dependency-refused',
    ),
    failing(
      `ENOSPC: no space left on device, write '/data/${seeded.word()}'`,
      'errors of a full disk',
      'disk-full',
    ),
    {
      name: 'a function that is too slow',
      cause: 'request-timeout',
      async make(bed) {
        const functionConfig = { timeoutSeconds: 1, responseStartTimeoutSeconds: 1, minScale: 1 }
        const appEnvId = await bed.environment({ dockerPreset: 'FUNCTION' }, { functionConfig })
        await bed.deploy(appEnvId, nodeSource(nodeServer('new Promise((done) => setTimeout(done, 5000))')))
        const ingress = await bed.load(appEnvId, 6, 1_000)
        await bed.measured([{ appEnvId, containers: [], ingress }])
        return appEnvId
      },
    },
    {
      name: 'a container that starts slowly',
      cause: 'slow-start',
      make: (bed) => served(bed, nodeSource(`setTimeout(() => { ${nodeServer()} }, 10500)`)),
    },
  ]
}

function capacityFaults(seeded: Seeded): StateFault[] {
  /** More requests than one container can hold: most are rejected at once, the others take their time. */
  const crowd = (ms: number) => {
    const requests = seeded.number(150, 250)
    const latency = { [bucketOf(2)]: requests - 40, [bucketOf(ms)]: 40 }
    return { seconds: 10, requests, answered4xx: 0, answered5xx: requests - 40, latency }
  }
  const busyFunction = async (bed: DiagnosisBed) => {
    const functionConfig = { minScale: 1, maxScale: 1, containerConcurrency: 5 }
    const appEnvId = await bed.environment({ dockerPreset: 'FUNCTION' }, { functionConfig })
    await bed.deploy(appEnvId, good())
    await bed.measured([{ appEnvId, containers: [], ingress: crowd(seeded.number(400, 900)) }])
    return appEnvId
  }
  const container = { cpuMillicores: 490, cpuLimitMillicores: 500, memoryMb: 60, memoryLimitMb: 512 }
  return [
    {
      name: 'a function with more callers than it may hold',
      cause: 'concurrency-saturated',
      make: busyFunction,
    },
    {
      name: 'a function that the account keeps small',
      cause: 'quota',
      alone: true,
      async make(bed) {
        const { accountId } = bed.platform
        await bed.call('update-account', {
          accountId,
          functionMaxScale: 1,
          functionDefaultMaxScale: 1,
          functionMaxMinScale: 1,
        })
        return busyFunction(bed)
      },
      after: (bed) => bed.call('update-account', { accountId: bed.platform.accountId, functionMaxScale: 10 }),
    },
    {
      name: 'autoscaling at its end',
      cause: 'scale-limit',
      async make(bed) {
        const appEnvId = await served(bed)
        await bed.call('update-app-env-autoscaling', {
          appEnvId,
          enabled: true,
          minContainers: 1,
          maxContainers: 1,
        })
        const nowMs = bed.platform.clock.wallMs()
        for (const ago of [30_000, 20_000, 10_000, 0])
          await bed.platform.metrics.append(nowMs - ago, [
            { appEnvId, containers: [container], ingress: null },
          ])
        return appEnvId
      },
    },
  ]
}

function serviceFaults(seeded: Seeded): StateFault[] {
  return [
    {
      name: 'a database that was stopped',
      cause: 'database-down',
      async make(bed) {
        const { accountId } = bed.platform
        const { appId } = await bed.call('create-app', {
          accountId,
          name: seeded.word(),
          dockerPreset: 'POSTGRESQL',
        })
        const data = await bed.call('create-app-env', { accountId, appId, name: 'data', region: 'plain' })
        await bed.deployed(data.appEnvId)
        const { hosts } = await bed.call('get-app-env', { appEnvId: data.appEnvId, decrypt: true })
        const name = seeded.variable()
        // Its own port is free for others while it is stopped, so the program tries one where nothing ever listens.
        const connects = `setTimeout(() => { new URL(process.env.${name}); require('net').connect(${seeded.number(2, 19)}, '127.0.0.1') }, 2000)`
        const appEnvId = await bed.environment({}, { envVars: [{ name, value: hosts[0].url }] })
        await bed.call('stop-app-env', { appEnvId: data.appEnvId })
        await bed.deploy(appEnvId, nodeSource(nodeServer("'hello'", connects)))
        await bed.crashed(appEnvId)
        return appEnvId
      },
    },
    {
      name: 'a variable that was saved too late',
      cause: 'missing-variable',
      async make(bed) {
        const name = seeded.variable()
        const needs = `setTimeout(() => { if (!process.env.${name}) throw new Error('${name} is missing') }, 2000)`
        const appEnvId = await served(bed, nodeSource(nodeServer("'hello'", needs)))
        await bed.crashed(appEnvId)
        await bed.call('update-app-env-variables', { appEnvId, set: [{ name, value: 'x' }] })
        return appEnvId
      },
    },
    {
      name: 'an image of a registry that refuses',
      cause: 'image-pull',
      async make(bed) {
        const appEnvId = await bed.environment({ useImage: true }, { region: 'plain' })
        await bed.call('deploy-app-env-image', {
          appEnvId,
          image: `127.0.0.1:1/${seeded.word()}:${seeded.number(1, 9)}`,
        })
        await bed.deployed(appEnvId)
        return appEnvId
      },
    },
  ]
}

function engineFault(seeded: Seeded): StateFault {
  return {
    name: 'an engine that is away',
    cause: 'engine-away',
    alone: true,
    async make(bed) {
      const appEnvId = await bed.environment({ useImage: true }, { region: 'plain' })
      await bed.call('deploy-app-env-image', { appEnvId, image: `registry.example.com/${seeded.word()}:1` })
      await bed.deployed(appEnvId)
      bed.fake.knobs.away = true
      const problem = async () => bed.platform.reconciler?.engineProblem('plain') ?? null
      await until(problem, (said) => said !== null, 'a listing that fails')
      return appEnvId
    },
    async after(bed) {
      bed.fake.knobs.away = false
    },
  }
}
