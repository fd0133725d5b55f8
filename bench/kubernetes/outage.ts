import { getAppEnvStatus } from '../../src/contract/app-env-reads.ts'
import { getAppEnvUsage } from '../../src/contract/measurements.ts'
import { cluster } from '../../testkit/kubernetes/cluster.ts'
import { shellImage, webScript } from '../../testkit/kubernetes/images.ts'
import { untilRead } from '../../testkit/until.ts'
import { deployed, onCluster, pause, timed } from './on-cluster.ts'

/** Longshore is killed for some minutes: what answers meanwhile, and how soon it is up to date afterwards. */
export function outage(minutes = 1): Promise<string[]> {
  return onCluster(async (installation) => {
    const image = await shellImage('outage', webScript)
    const app = await deployed(installation, { name: 'steady', image })
    const func = await deployed(installation, {
      ...{ name: 'func', image: `${cluster.registry}/demo/echo:1`, isFunction: true },
      settings: { functionConfig: { idleTimeoutSeconds: 300 } },
    })
    for (const { host } of [app, func])
      await untilRead(
        () => timed(host),
        ({ status }) => status === 200,
        host,
      )
    const usageOf = async () =>
      (await installation.client().call(getAppEnvUsage, { appEnvId: app.appEnvId })).containerSeconds
    const [before, sinceMs] = [await usageOf(), Date.now()]
    await installation.end('SIGKILL')
    let failed = 0
    let sent = 0
    const endMs = Date.now() + minutes * 60_000
    let nextCallMs = 0
    while (Date.now() < endMs) {
      if ((await timed(app.host)).status !== 200) failed += 1
      sent += 1
      // Rare enough that the function goes to zero in between.
      if (Date.now() > nextCallMs) {
        nextCallMs = Date.now() + 50_000
        if ((await timed(func.host)).status !== 200) failed += 1
        sent += 1
      }
      await pause(200)
    }
    await installation.start()
    const startedMs = performance.now()
    const isComplete = async () => {
      const { containers } = await installation.client().call(getAppEnvStatus, { appEnvId: app.appEnvId })
      const missing = (Date.now() - sinceMs) / 1_000 - ((await usageOf()) - before)
      return { containers, missing }
    }
    const { missing } = await untilRead(
      isComplete,
      (now) => now.containers.running === 1 && Math.abs(now.missing) < 5,
      'the truth',
    )
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1)
    return [
      `away for ${minutes} min: ${sent} requests to an app and a function that goes to zero, ${failed} failed (goal: 0)`,
      `up to date ${seconds} s after the ready line (goal: 10), usage of the app differs by ${Math.abs(missing).toFixed(1)} s`,
    ]
  })
}
