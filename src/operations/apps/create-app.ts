import { type App, createApp } from '../../contract/apps.ts'
import { checkApp } from '../../domain/apps/app.ts'
import { isDatabase, isFunction, isJob } from '../../domain/apps/presets.ts'
import { checkRunsSomewhere } from '../../domain/databases/settings.ts'
import { checkHealthCheck } from '../../domain/environments/health-check.ts'
import { slugOf } from '../../domain/environments/names.ts'
import { newId } from '../../domain/ids.ts'
import { insertApp } from '../../store/repositories/apps.ts'
import { handler } from '../core/handler.ts'
import { userIdOrNull } from '../core/user-of.ts'

export default handler(createApp, async ({ tx, caller, now, installation }, input, { account }) => {
  if (isDatabase(input.dockerPreset))
    checkRunsSomewhere(input.dockerPreset, installation.databaseAvailability())
  const preset = input.dockerPreset
  const app: App = {
    appId: newId('app'),
    accountId: account.accountId,
    name: input.name,
    slug: slugOf(input.name, 'app'),
    port: input.port ?? null,
    dockerPreset: preset,
    // A function may run its image without useImage.
    useImage: input.useImage ?? (input.image !== undefined && !isFunction(preset)),
    image: input.image ?? null,
    isCliDeployment: input.isCliDeployment,
    gitNamespace: input.gitNamespace ?? null,
    gitRepo: input.gitRepo ?? null,
    contextDir: input.contextDir ?? null,
    dockerfilePath: input.dockerfilePath ?? null,
    customDockerfileContent: input.customDockerfileContent ?? null,
    jobConfig: input.jobConfig ?? (isJob(preset) ? {} : null),
    ...(input.healthCheck && { healthCheck: input.healthCheck }),
    isFunction: isFunction(preset),
    isDatabase: isDatabase(preset),
    isJob: isJob(preset),
    createdAt: now,
    revision: 1,
  }
  checkApp(app)
  checkHealthCheck({ ...app, healthCheck: undefined }, input.healthCheck)
  await insertApp(tx, app, userIdOrNull(caller))
  return {
    answer: { appId: app.appId },
    change: { objectType: 'app', objectId: app.appId, accountId: app.accountId, before: null, after: app },
    impact: { actions: ['create-object'] },
    effects: [`Creates a ${app.dockerPreset} app. Nothing runs until an environment is deployed.`],
  }
})
