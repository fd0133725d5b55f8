import { listApps } from '../contract/apps.ts'
import { listAppsOfAccount } from '../store/apps.ts'
import { hasEnvironments, listEnvironments } from '../store/environments.ts'
import { handler } from './handler.ts'
import { isRestricted } from './reach.ts'

/** M1, M3: a restricted member sees apps with an accessible environment, and those just made by themselves. */
export default handler(listApps, async ({ tx }, _input, { account, membership }) => {
  const stored = await listAppsOfAccount(tx, account.accountId)
  if (!isRestricted(account, membership)) return { answer: { apps: stored.map(({ app }) => app) } }
  const { accountId } = account
  const reached = await listEnvironments(tx, { accountId }, membership.allowedAppEnvIds)
  const visible = new Set(reached.map((environment) => environment.appId))
  const apps = []
  for (const { app, createdBy } of stored) {
    const madeHere = createdBy === membership.userId && !(await hasEnvironments(tx, app.appId))
    if (visible.has(app.appId) || madeHere) apps.push(app)
  }
  return { answer: { apps } }
})
