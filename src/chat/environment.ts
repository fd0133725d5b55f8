import { listAppEnvs } from '../contract/app-envs.ts'
import { listApps } from '../contract/apps.ts'
import type { OutputOf } from '../contract/operation.ts'
import { AppError } from '../errors.ts'
import { nearestName } from '../nearest.ts'
import type { Calls } from './calls.ts'

interface NamedEnvironment {
  appEnvId: string
  envName: string
}

/** The environment with this id or name, or `app/environment`, of those that the person may see. */
export async function environmentOf(calls: Calls, word: string): Promise<NamedEnvironment> {
  const { accountId } = calls
  const { appEnvs } = (await calls.read(listAppEnvs, { accountId })) as OutputOf<typeof listAppEnvs>
  const exact = appEnvs.find(({ appEnvId, cliEnvName }) => appEnvId === word || cliEnvName === word)
  const found = exact ?? (await ofApp(calls, appEnvs, word))
  if (found) return { appEnvId: found.appEnvId, envName: found.cliEnvName }
  const nearest = nearestName(
    word,
    appEnvs.map(({ cliEnvName }) => cliEnvName),
  )
  throw new AppError('not-found', 'App environment not found', {
    details:
      nearest === null ? 'Name it as in its address, or as app/environment.' : `Did you mean ${nearest}?`,
  })
}

type Listed = OutputOf<typeof listAppEnvs>['appEnvs'][number]

/** `app/environment`, or the app alone if it has one environment. */
async function ofApp(calls: Calls, appEnvs: readonly Listed[], word: string): Promise<Listed | undefined> {
  const [appWord = '', envWord] = word.split('/')
  const { apps } = (await calls.read(listApps, { accountId: calls.accountId })) as OutputOf<typeof listApps>
  const ids = apps.filter(({ name, slug }) => [name, slug].includes(appWord)).map(({ appId }) => appId)
  const all = appEnvs.filter(({ appId }) => ids.includes(appId))
  if (envWord === undefined) return all.length === 1 ? all[0] : undefined
  return all.find(({ name, cliEnvName }) => name === envWord || cliEnvName === envWord)
}
