import { listApps } from '../../contract/apps.ts'
import { visibleEnvironments } from '../../domain/access/environment-access.ts'
import { listAppsOfAccount } from '../../store/repositories/apps.ts'
import { hasEnvironments, listEnvironments } from '../../store/repositories/environments.ts'
import { handler } from '../core/handler.ts'
import { shownApp } from './change-app.ts'

/** M1, M3: a restricted member sees apps with an accessible environment, and their own apps without environments. */
export default handler(listApps, async ({ tx }, _input, { account, membership }) => {
  const stored = await listAppsOfAccount(tx, account.accountId)
  const only = visibleEnvironments(account, membership)
  if (only === null) return { answer: { apps: stored.map(({ app }) => shownApp(app)) } }
  const { accountId } = account
  const { agent, userId } = membership
  const onAccount = await listEnvironments(tx, { accountId }, only)
  const visibleAppIds = new Set(onAccount.map((environment) => environment.appId))
  const apps = []
  for (const { app, createdBy } of stored) {
    const isOwn = agent ? agent.appId === app.appId : createdBy === userId
    const isVisible = visibleAppIds.has(app.appId) || (isOwn && !(await hasEnvironments(tx, app.appId)))
    if (isVisible) apps.push(shownApp(app))
  }
  return { answer: { apps } }
})
