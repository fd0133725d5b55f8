import { probeFunction } from '../contract/function-probe.ts'
import { effectiveFunctionConfig } from '../domain/function-config.ts'
import {
  coldStartSeconds,
  defaultProbeConcurrency,
  probeChecks,
  probeProposal,
} from '../domain/function-probe.ts'
import { AppError } from '../errors.ts'
import { handler } from './handler.ts'

/** The load is sent once the call is stored, outside the transaction; nothing of it is kept. */
export default handler(probeFunction, async (context, input, { environment, app, account }) => {
  const { appEnvId } = environment
  if (!app.isFunction) {
    throw new AppError('invalid', 'Only FUNCTION apps can be probed', {
      details: `This app uses the ${app.dockerPreset} preset. get-app-env-metrics shows how it serves.`,
      rule: 'E3',
    })
  }
  if (environment.wish !== 'running' || environment.currentRolloutId === null) {
    throw new AppError('conflict', 'This function does not serve', {
      details: `Its status is ${environment.status}. Deploy or start it (start-app-env), then probe it.`,
    })
  }
  const settings = effectiveFunctionConfig(environment.applied.functionConfig, account.settings)
  const concurrency = Math.min(input.concurrency ?? defaultProbeConcurrency(settings), input.requests)
  const host = context.installation.hosts(environment, app)[0]?.host ?? ''
  const { path, requests } = input
  return {
    answer: nothingYet(appEnvId, context.now, settings),
    effects: [
      `Sends at most ${requests} GET requests, ${concurrency} at a time, to http://${host}${path}, for at most 20 seconds. Containers they start are billed.`,
    ],
    settle: async () => {
      const measured = await context.prober.probe({ appEnvId, host, path, requests, concurrency })
      return {
        appEnvId,
        startedAt: context.now,
        tookSeconds: measured.tookSeconds,
        cutShort: measured.cutShort,
        coldStartSeconds: coldStartSeconds(measured),
        containersBefore: measured.containersBefore,
        mostContainers: measured.mostContainers,
        levels: [...measured.levels],
        checks: probeChecks(measured, settings),
        proposal: probeProposal(measured, settings),
      }
    },
  }
})

/** What a dry run answers: nothing was sent. */
function nothingYet(
  appEnvId: string,
  startedAt: string,
  settings: { containerConcurrency: number; minScale: number },
) {
  const { containerConcurrency, minScale } = settings
  return {
    appEnvId,
    startedAt,
    tookSeconds: 0,
    cutShort: false,
    coldStartSeconds: null,
    containersBefore: 0,
    mostContainers: 0,
    levels: [],
    checks: [],
    proposal: { containerConcurrency, minScale, because: [] },
  }
}
