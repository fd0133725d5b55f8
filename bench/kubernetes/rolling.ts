import { deployAppEnvImage } from '../../src/contract/deployments.ts'
import { shellImage, webScript } from '../../testkit/kubernetes/images.ts'
import { untilDeployed } from '../../testkit/platform/deploy.ts'
import { untilRead } from '../../testkit/until.ts'
import { deployed, onCluster, pause, timed, withTwo } from './on-cluster.ts'

const everyMs = 10

/** Requests lost while versions replace each other under 100 requests a second. */
export function rolling(deployments = 5): Promise<string[]> {
  return onCluster(async (installation) => {
    const image = await shellImage('rolling', webScript)
    const app = await deployed(installation, { name: 'rolling', image })
    await withTwo(installation, app.appEnvId)
    await untilRead(
      () => timed(app.host),
      ({ status }) => status === 200,
      'an answer',
    )
    const statuses: Promise<{ status: number }>[] = []
    const load = setInterval(() => statuses.push(timed(app.host)), everyMs)
    const client = installation.client()
    for (let index = 0; index < deployments; index += 1) {
      await client.call(deployAppEnvImage, { appEnvId: app.appEnvId, image })
      await untilDeployed(installation, app.appEnvId)
      // The containers of the version before drain.
      await pause(8_000)
    }
    clearInterval(load)
    const answers = await Promise.all(statuses)
    const lost = answers.filter(({ status }) => status !== 200)
    const kinds = [...new Set(lost.map(({ status }) => status))].join(', ')
    return [
      `${deployments} rolling updates of 2 containers, ${answers.length} requests, ${lost.length} lost${kinds && ` (${kinds})`} (goal: 0)`,
    ]
  })
}
