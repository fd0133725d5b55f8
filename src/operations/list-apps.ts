import { listApps } from '../contract/apps.ts'
import { listAppsOfAccount } from '../store/apps.ts'
import { listEnvironmentIds } from '../store/environments.ts'
import { isRestricted } from './authorise.ts'
import { handler } from './handler.ts'

/** M1, M3: a restricted member sees apps with an accessible environment, and those just made by themselves. */
export default handler(listApps, async ({ tx }, _input, { account, membership }) => {
  const stored = await listAppsOfAccount(tx, account.accountId)
  if (!isRestricted(account, membership)) return { answer: { apps: stored.map(({ app }) => app) } }
  const allowed = new Set(membership.allowedAppEnvIds)
  const environments = await listEnvironmentIds(tx, { accountId: account.accountId })
  const visible = new Set(environments.filter((env) => allowed.has(env.appEnvId)).map((env) => env.appId))
  const used = new Set(environments.map((env) => env.appId))
  const apps = stored
    .filter(
      ({ app, createdBy }) =>
        visible.has(app.appId) || (createdBy === membership.userId && !used.has(app.appId)),
    )
    .map(({ app }) => app)
  return { answer: { apps } }
})
