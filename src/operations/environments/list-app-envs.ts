import { listAppEnvs } from '../../contract/app-envs.ts'
import type { App } from '../../contract/apps.ts'
import { isRestricted } from '../../domain/access/environment-access.ts'
import { findApp } from '../../store/repositories/apps.ts'
import { listEnvironments } from '../../store/repositories/environments.ts'
import { handler } from '../core/handler.ts'

/** M1: only environments that the caller can access. */
export default handler(listAppEnvs, async ({ tx }, _input, { account, membership, app }) => {
  const only = isRestricted(account, membership) ? membership.allowedAppEnvIds : undefined
  const of = app ? { appId: app.appId } : { accountId: account.accountId }
  const environments = (await listEnvironments(tx, of, only)).filter(
    (env) => env.accountId === account.accountId,
  )
  const apps = new Map<string, App>(app ? [[app.appId, app]] : [])
  const appEnvs = []
  for (const environment of environments) {
    const known = apps.get(environment.appId) ?? (await findApp(tx, environment.appId))?.app
    if (!known) continue
    apps.set(known.appId, known)
    const { appEnvId, appId, name, slug, region, status, cliEnvName, currentVersion } = environment
    const { dockerPreset, isFunction } = known
    appEnvs.push({
      appEnvId,
      appId,
      name,
      slug,
      region,
      status,
      cliEnvName,
      dockerPreset,
      isFunction,
      currentVersion,
    })
  }
  return { answer: { appEnvs } }
})
