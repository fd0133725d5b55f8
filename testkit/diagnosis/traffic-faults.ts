import type { DiagnosisCause } from '../../src/contract/diagnosis.ts'
import { bucketOf } from '../../src/metrics/histogram.ts'
import type { DiagnosisFixture } from './fixture.ts'
import { nodeServer, nodeSource } from './programs.ts'
import type { Seeded } from './seeded.ts'
import { good, type StateFault, served } from './state-fault.ts'

/** Requests that fail, time out, or get no answer. */
export function trafficFaults(seeded: Seeded): StateFault[] {
  const failing = (line: string, name: string, cause: DiagnosisCause): StateFault => ({
    name,
    cause,
    async make(fixture) {
      const answer = `console.error(${JSON.stringify(line)}), 'sorry'`
      const appEnvId = await served(fixture, nodeSource(nodeServer(`(${answer})`, '', '500')))
      await fixture.measured([{ appEnvId, containers: [], ingress: await fixture.load(appEnvId, 20) }])
      await fixture.printed(appEnvId, 21)
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
      async make(fixture) {
        const functionConfig = { timeoutSeconds: 1, responseStartTimeoutSeconds: 1, minScale: 1 }
        const appEnvId = await fixture.environment({ dockerPreset: 'FUNCTION' }, { functionConfig })
        const slow = nodeServer('new Promise((done) => setTimeout(done, 5000))')
        await fixture.deploy(appEnvId, nodeSource(slow))
        const ingress = await fixture.load(appEnvId, 6, 1_000)
        await fixture.measured([{ appEnvId, containers: [], ingress }])
        return appEnvId
      },
    },
    {
      name: 'a program that does not answer before clients leave',
      cause: 'unanswered-requests',
      async make(fixture) {
        const appEnvId = await served(fixture, nodeSource(nodeServer('new Promise(() => {})')))
        const ingress = await fixture.load(appEnvId, 5, 1_000, true)
        await fixture.measured([{ appEnvId, containers: [], ingress }])
        return appEnvId
      },
    },
    {
      name: 'a program that answers after seconds',
      cause: 'slow-responses',
      async make(fixture) {
        const appEnvId = await served(fixture)
        await fixture.waited(appEnvId, seeded.number(4, 9), seeded.number(6_000, 9_000))
        return appEnvId
      },
    },
    {
      name: 'a container that starts slowly',
      cause: 'slow-start',
      make: (fixture) => served(fixture, nodeSource(`setTimeout(() => { ${nodeServer()} }, 10500)`)),
    },
  ]
}

async function smallFunction(fixture: DiagnosisFixture): Promise<string> {
  const functionConfig = { minScale: 1, maxScale: 1, containerConcurrency: 5 }
  const appEnvId = await fixture.environment({ dockerPreset: 'FUNCTION' }, { functionConfig })
  await fixture.deploy(appEnvId, good())
  return appEnvId
}

/** More requests than the containers can take. */
export function capacityFaults(seeded: Seeded): StateFault[] {
  /** More than one container can hold over a whole minute: most are rejected at once, the others take their time. */
  const crowd = (ms: number) => {
    const requests = seeded.number(900, 1_500)
    const latency = { [bucketOf(2)]: requests - 40, [bucketOf(ms)]: 40 }
    return { seconds: 10, requests, answered4xx: 0, answered5xx: requests - 40, latency }
  }
  const busyFunction = async (fixture: DiagnosisFixture) => {
    const appEnvId = await smallFunction(fixture)
    await fixture.measured([{ appEnvId, containers: [], ingress: crowd(seeded.number(400, 900)) }])
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
      name: 'a function whose callers wait for a place',
      cause: 'concurrency-saturated',
      async make(fixture) {
        const appEnvId = await smallFunction(fixture)
        await fixture.waited(appEnvId, seeded.number(300, 400), seeded.number(4_000, 9_000))
        return appEnvId
      },
    },
    {
      name: 'a function that the account keeps small',
      cause: 'quota',
      alone: true,
      async make(fixture) {
        const { accountId } = fixture.platform
        await fixture.call('update-account', {
          accountId,
          functionMaxScale: 1,
          functionDefaultMaxScale: 1,
          functionMaxMinScale: 1,
        })
        return busyFunction(fixture)
      },
      after: (fixture) =>
        fixture.call('update-account', { accountId: fixture.platform.accountId, functionMaxScale: 10 }),
    },
    {
      name: 'autoscaling at its end',
      cause: 'scale-limit',
      async make(fixture) {
        const appEnvId = await served(fixture)
        await fixture.call('update-app-env-autoscaling', {
          appEnvId,
          enabled: true,
          minContainers: 1,
          maxContainers: 1,
        })
        const nowMs = fixture.platform.clock.wallMs()
        for (const ago of [30_000, 20_000, 10_000, 0])
          await fixture.platform.metrics.append(nowMs - ago, [
            { appEnvId, containers: [container], ingress: null },
          ])
        return appEnvId
      },
    },
  ]
}
