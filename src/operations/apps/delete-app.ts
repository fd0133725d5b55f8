import { deleteApp } from '../../contract/apps.ts'
import { AppError } from '../../errors.ts'
import { deleteApp as removeApp } from '../../store/repositories/apps.ts'
import { listEnvironmentIds } from '../../store/repositories/environments.ts'
import { handler } from '../core/handler.ts'
import { shownApp } from './change-app.ts'

export default handler(deleteApp, async ({ tx }, _input, { app }) => {
  if ((await listEnvironmentIds(tx, { appId: app.appId })).length > 0) {
    // Never the number: it would count environments that a restricted member cannot access.
    throw new AppError('invalid', 'App has environments', {
      details: 'Delete its environments first; list-app-envs shows those you can access.',
    })
  }
  await removeApp(tx, app.appId)
  return {
    answer: { message: `App ${app.appId} deleted` },
    change: {
      objectType: 'app',
      objectId: app.appId,
      accountId: app.accountId,
      before: shownApp(app),
      after: null,
    },
    impact: { actions: ['delete-object'] },
    effects: [`Deletes app ${app.appId}; it has no environments.`],
  }
})
