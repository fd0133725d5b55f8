import { deleteAppEnv } from '../contract/app-envs.ts'
import { deleteEnvironment } from '../store/environments.ts'
import { listLivePods } from '../store/rollouts.ts'
import { handler } from './handler.ts'

/** The rows go now; containers, volumes and files that belong to no row are removed by the reconciler. */
export default handler(deleteAppEnv, async ({ tx, installation }, _input, { environment, app }) => {
  const pods = await listLivePods(tx, environment.appEnvId)
  const hosts = installation.hosts(environment, app).map(({ host }) => host)
  await deleteEnvironment(tx, environment.appEnvId)
  return {
    answer: { message: `App environment ${environment.name} deleted` },
    change: {
      objectType: 'app-env',
      objectId: environment.appEnvId,
      accountId: environment.accountId,
      before: environment,
      after: null,
    },
    effects: [
      `Stops and removes ${pods.length} container(s) of ${environment.cliEnvName}.`,
      ...(hosts.length === 0 ? [] : [`Nothing answers any more at ${[...new Set(hosts)].join(', ')}.`]),
      `Removes its ${environment.saved.envVars.length} variable(s), volumes, uploads, logs and alerts for good.`,
    ],
    wake: [environment.appEnvId],
  }
})
