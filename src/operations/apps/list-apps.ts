import { listApps } from '../../contract/apps.ts'
import { isRestricted } from '../../domain/access/environment-access.ts'
import { listAppsOfAccount } from '../../store/repositories/apps.ts'
import { hasEnvironments, listEnvironments } from '../../store/repositories/environments.ts'
import { handler } from '../core/handler.ts'

/** M1, M3: a restricted member sees apps with an accessible environment, and their own apps without environments. */
export default handler(listApps, async ({ tx }, _input, { account, membership }) => {
  const stored = await listAppsOfAccount(tx, account.accountId)
  if (!isRestricted(account, membership)) return { answer: { apps: stored.map(({ app }) => app) } }
  const { accountId } = account
  const onAccount = await listEnvironments(tx, { accountId }, membership.allowedAppEnvIds)
  const visibleAppIds = new Set(onAccount.map((environment) => environment.appId))
  const apps = []
  for (const { app, createdBy } of stored) {
    const madeHere = createdBy === membership.userId && !(await hasEnvironments(tx, app.appId))
    if (visibleAppIds.has(app.appId) || madeHere) apps.push(app)
  }
  return { answer: { apps } }
})
