import { probeFunction } from '../../contract/function-probe.ts'
import { functionOnlyViolation } from '../../contract/rules.ts'
import { effectiveFunctionConfig } from '../../domain/functions/config.ts'
import {
  coldStartSeconds,
  defaultProbeConcurrency,
  probeChecks,
  probeProposal,
} from '../../domain/functions/probe.ts'
import { AppError, rejectViolation } from '../../errors.ts'
import { countRunningPods } from '../../store/repositories/rollouts.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import { type Context, handler } from '../core/handler.ts'

/** Sends the load after the transaction commits; its results are not stored. */
export default handler(probeFunction, async (context, input, target) => {
  const { environment, app, account } = target
  const { appEnvId } = environment
  rejectViolation(functionOnlyViolation(app, 'probe-function'))
  if (environment.desiredState !== 'running' || environment.currentRolloutId === null) {
    throw new AppError('conflict', 'The function is not running', {
      details: `Its status is ${environment.status}. Deploy or start it (start-app-env), then probe it.`,
    })
  }
  const settings = effectiveFunctionConfig(environment.applied.functionConfig, account.settings)
  const concurrency = Math.min(input.concurrency ?? defaultProbeConcurrency(settings), input.requests)
  const host = context.installation.hosts(environment, app)[0]?.host ?? ''
  const { path, requests } = input
  return {
    answer: null,
    impact: { actions: ['scale-up'], containersStarted: await startedBy(context, target, concurrency) },
    effects: [
      `Sends at most ${requests} GET requests, ${concurrency} at a time, to http://${host}${path}, for at most 20 seconds. Containers that they start are billed.`,
    ],
    afterCommit: async (_write, { prober }) => {
      const { traceparent } = context
      const result = await prober.probe({ appEnvId, host, path, requests, concurrency, traceparent })
      return {
        appEnvId,
        startedAt: context.now,
        tookSeconds: result.tookSeconds,
        cutShort: result.cutShort,
        coldStartSeconds: coldStartSeconds(result),
        containersBefore: result.containersBefore,
        mostContainers: result.mostContainers,
        levels: [...result.levels],
        checks: probeChecks(result, settings),
        proposal: probeProposal(result, settings),
      }
    },
  }
})

/** The containers that the load needs at most, beside those that run. */
async function startedBy(
  { tx }: Context,
  { environment, account }: EnvironmentTarget,
  concurrency: number,
): Promise<number> {
  const { containerConcurrency, maxScale } = effectiveFunctionConfig(
    environment.applied.functionConfig,
    account.settings,
  )
  const needed = Math.min(maxScale, Math.ceil(concurrency / containerConcurrency))
  return Math.max(0, needed - (await countRunningPods(tx, environment.appEnvId)))
}
