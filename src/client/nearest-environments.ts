import { listAppEnvs } from '../contract/app-envs.ts'
import { listApps } from '../contract/apps.ts'
import { nearestName } from '../nearest.ts'
import type { CallOptions, Client } from './client.ts'

const mostOfApp = 5

interface NamedEnvironment {
  appEnvId: string
  cliEnvName: string
}

/**
 * The environments that were probably meant, of those that the caller can see: the one with this name, those of the app
 * with it, or the one with the most similar name. The platform cannot suggest them: its answer must not depend on
 * objects that the caller may not see.
 */
export async function nearestEnvironments(
  client: Client,
  given: string,
  accountIds: readonly string[],
  options?: CallOptions,
): Promise<NamedEnvironment[]> {
  const all: NamedEnvironment[] = []
  const ofApp: NamedEnvironment[] = []
  for (const accountId of accountIds) {
    const { apps } = await client.call(listApps, { accountId }, options)
    const meant = apps.filter(({ name, slug }) => [name, slug].includes(given)).map(({ appId }) => appId)
    for (const environment of (await client.call(listAppEnvs, { accountId }, options)).appEnvs) {
      all.push(environment)
      if (meant.includes(environment.appId)) ofApp.push(environment)
    }
  }
  const named = (name: string | null) => all.filter(({ cliEnvName }) => cliEnvName === name)
  const exact = named(given)
  if (exact.length > 0) return exact
  if (ofApp.length > 0) return ofApp.slice(0, mostOfApp)
  const names = all.map(({ cliEnvName }) => cliEnvName)
  return named(nearestName(given, names))
}
