import { deleteApp } from '../contract/apps.ts'
import { AppError } from '../errors.ts'
import { deleteApp as removeApp } from '../store/apps.ts'
import { listEnvironmentIds } from '../store/environments.ts'
import { handler } from './handler.ts'

export default handler(deleteApp, async ({ tx }, _input, { app }) => {
  if ((await listEnvironmentIds(tx, { appId: app.appId })).length > 0) {
    // Not how many: a restricted member sees only some of them.
    throw new AppError('invalid', 'App has environments', {
      details: 'Delete its environments first; list-app-envs shows those you can reach.',
    })
  }
  await removeApp(tx, app.appId)
  return {
    answer: { message: `App ${app.name} deleted` },
    change: { objectType: 'app', objectId: app.appId, accountId: app.accountId, before: app, after: null },
    effects: [`Deletes the app ${app.name}; it has no environments.`],
  }
})
