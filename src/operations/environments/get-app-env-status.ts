import { type Deployment, getAppEnvStatus } from '../../contract/app-env-reads.ts'
import { findContent, findRollout, listLivePods } from '../../store/repositories/rollouts.ts'
import { type Context, handler } from '../core/handler.ts'
import { readHealth } from './read-health.ts'
import { containerCounts, pendingWithAuthors, servedApp } from './responses.ts'

export default handler(getAppEnvStatus, async (context, _input, target) => {
  const { environment, app } = target
  const pods = await listLivePods(context.tx, environment.appEnvId)
  const current = environment.currentRolloutId
    ? await findRollout(context.tx, environment.currentRolloutId)
    : null
  const { health, complete } = await readHealth(context, target, current)
  return {
    answer: {
      appEnvId: environment.appEnvId,
      cliEnvName: environment.cliEnvName,
      status: environment.status,
      currentContentId: current?.contentId ?? null,
      currentVersion: environment.currentVersion,
      currentDeployment: await deploymentOf(context, environment.latestRolloutId),
      containers: containerCounts(environment, app, pods),
      health,
      pendingChanges: await pendingWithAuthors(context, environment),
      hosts: context.installation.hosts(environment, await servedApp(context, environment, app)),
      ...(environment.volumeMove && {
        volumeMove: { region: environment.region, step: environment.volumeMove.step },
      }),
    },
    ...(complete
      ? { afterRead: async (answer, after) => ({ ...answer, health: await complete(after) }) }
      : {}),
  }
})

async function deploymentOf(context: Context, rolloutId: string | null): Promise<Deployment | null> {
  const rollout = rolloutId === null ? null : await findRollout(context.tx, rolloutId)
  const content = rollout && (await findContent(context.tx, rollout.contentId))
  if (!rollout || !content) return null
  const { contentId, version, status, createdAt, deployedAt, failure } = rollout
  return {
    contentId,
    version,
    status,
    type: content.type,
    containerImage: content.containerImage,
    createdAt,
    deployedAt,
    failure,
  }
}
