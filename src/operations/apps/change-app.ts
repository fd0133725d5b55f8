import type { App } from '../../contract/apps.ts'
import type { ImpactStatement } from '../../contract/impact.ts'
import { mayAccess } from '../../domain/access/environment-access.ts'
import { checkApp, checkSameKind } from '../../domain/apps/app.ts'
import { type AppRecord, settingsOf } from '../../domain/apps/app-settings.ts'
import { updateApp } from '../../store/repositories/apps.ts'
import { listEnvironmentIds } from '../../store/repositories/environments.ts'
import type { AccountTarget } from '../core/access-targets.ts'
import { restricted } from '../core/authorize.ts'
import type { Change, Context } from '../core/handler.ts'

/** An app as answers and the audit log show it. */
export function shownApp({ createdAs: _kept, ...app }: AppRecord): App {
  return app
}

/** Checks and saves a changed app. It affects every environment, so the caller needs access to all of them. */
export async function saveApp(
  { tx }: Context,
  { account, membership }: AccountTarget,
  before: AppRecord,
  draft: AppRecord,
): Promise<{ app: App; change: Change; impact: ImpactStatement; effect: string }> {
  const environments = await listEnvironmentIds(tx, { appId: before.appId })
  if (!environments.every(({ appEnvId }) => mayAccess(account, membership, appEnvId))) throw restricted('app')
  checkSameKind(before, draft.dockerPreset)
  checkApp(draft)
  const after: AppRecord = {
    ...draft,
    createdAs: before.createdAs ?? settingsOf(before),
    revision: before.revision + 1,
  }
  await updateApp(tx, after)
  const { appId, accountId } = after
  const app = shownApp(after)
  return {
    app,
    change: { objectType: 'app', objectId: appId, accountId, before: shownApp(before), after: app },
    impact: { environments: environments.map(({ appEnvId }) => appEnvId) },
    effect:
      environments.length === 0
        ? 'No environment is affected.'
        : 'The next deployment of each environment uses it; until then, versions run and restart as they were deployed.',
  }
}
