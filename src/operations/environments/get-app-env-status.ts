import { type Deployment, getAppEnvStatus } from '../../contract/app-env-reads.ts'
import { buildCauses } from '../../domain/diagnosis/build.ts'
import { failureFinding } from '../../domain/diagnosis/diagnose.ts'
import { startCauses } from '../../domain/diagnosis/start.ts'
import { findClaim } from '../../store/repositories/claims.ts'
import { findContent, findRollout, listLivePods } from '../../store/repositories/rollouts.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import { claimShown } from '../core/claim-check.ts'
import { type AfterRead, type Context, handler } from '../core/handler.ts'
import { loadFacts } from '../diagnosis/load-facts.ts'
import { readHealth } from './read-health.ts'
import { containerCounts, pendingWithAuthors, servedApp } from './responses.ts'

export default handler(getAppEnvStatus, async (context, _input, target) => {
  const { environment, app } = target
  const pods = await listLivePods(context.tx, environment.appEnvId)
  const current = environment.currentRolloutId
    ? await findRollout(context.tx, environment.currentRolloutId)
    : null
  const { health, complete } = await readHealth(context, target, current)
  const currentDeployment = await deploymentOf(context, environment.latestRolloutId)
  const explain = await failureReader(context, target, currentDeployment)
  return {
    answer: {
      appEnvId: environment.appEnvId,
      cliEnvName: environment.cliEnvName,
      status: environment.status,
      currentContentId: current?.contentId ?? null,
      currentVersion: environment.currentVersion,
      currentDeployment,
      containers: containerCounts(environment, app, pods),
      health,
      pendingChanges: await pendingWithAuthors(context, environment),
      claim: claimShown(await findClaim(context.tx, environment.appEnvId, context.now)),
      hosts: context.installation.hosts(environment, await servedApp(context, environment, app)),
      ...(environment.volumeMove && {
        volumeMove: { region: environment.region, step: environment.volumeMove.step },
      }),
    },
    ...(complete || explain
      ? {
          afterRead: async (answer, after) => ({
            ...answer,
            health: complete ? await complete(after) : answer.health,
            currentDeployment: explain ? await explain(after) : answer.currentDeployment,
          }),
        }
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

/** The cause of a failed deployment is that of its diagnosis. */
async function failureReader(context: Context, target: EnvironmentTarget, deployment: Deployment | null) {
  const failure = deployment?.failure
  const recorded = failure && (buildCauses[failure.reason] ?? startCauses[failure.reason])
  if (!failure || deployment.status !== 'FAILED' || !recorded) return null
  const readFacts = await loadFacts(context, target)
  return async (after: AfterRead): Promise<Deployment> => {
    const finding = failureFinding((await readFacts(after)).facts)
    if (!finding) return deployment
    const { cause, summary } = finding
    return {
      ...deployment,
      failure: { ...failure, cause, ...(cause === recorded ? {} : { explanation: summary }) },
    }
  }
}
