import { backupFormats } from '../../contract/backups.ts'
import { rotateDatabasePassword } from '../../contract/databases.ts'
import { checkServes } from '../../domain/backups/backup.ts'
import { databaseSecretName, newSecrets } from '../../domain/databases/credentials.ts'
import { AppError } from '../../errors.ts'
import { listActiveBackups, listActiveRestores } from '../../store/repositories/backups.ts'
import { listDependentIds } from '../../store/repositories/variable-references.ts'
import { openDatabaseSecrets } from '../../store/secrets/opened.ts'
import { handler } from '../core/handler.ts'
import { draftOf, saveChange } from '../environments/change-environment.ts'
import { noteActivity } from '../environments/note-activity.ts'
import { environmentResponse } from '../environments/responses.ts'

/** Records the new password. Until the reconciler has set it on the server, the old one stays stored beside it. */
export default handler(rotateDatabasePassword, async (context, _input, target) => {
  const { environment, app } = target
  const draft = draftOf(environment)
  const { database, appEnvId } = draft
  if (!database || !(app.dockerPreset in backupFormats)) {
    throw new AppError('invalid', 'Only PostgreSQL, MySQL and Redis databases have a password to rotate', {
      details: `This app uses the ${app.dockerPreset} preset.`,
    })
  }
  checkServes(environment)
  if (environment.saved.containers > 1 || environment.applied.containers > 1) {
    throw new AppError('invalid', 'A database with replicas keeps its password', {
      details:
        'Replicas hold a copy of it. Set containers to 1 with update-app-env, apply, rotate, then set it back.',
    })
  }
  if (database.previousSecrets !== undefined) {
    throw new AppError('conflict', 'The last rotation is still under way', {
      details: 'get-app-env-history lists ROTATE_PASSWORD when the database has the new password.',
    })
  }
  const copies = [...(await listActiveBackups(context.tx)), ...(await listActiveRestores(context.tx))]
  if (copies.some((copy) => copy.appEnvId === appEnvId)) {
    // A restore of PostgreSQL or MySQL connects several times, and would fail halfway.
    throw new AppError('conflict', 'A backup or restore of this environment is under way', {
      details: 'It uses the present password. Wait until list-app-env-backups shows that it has ended.',
    })
  }
  const now = openDatabaseSecrets(context.secrets, appEnvId, database.secrets)
  const next = { ...now, password: newSecrets().password }
  database.previousSecrets = database.secrets
  database.secrets = context.secrets.seal(JSON.stringify(next), databaseSecretName(appEnvId))
  const change = await saveChange(context, target, draft)
  await noteActivity(context, appEnvId, { activity: 'ROTATE_PASSWORD', status: 'PENDING' })
  const dependents = await listDependentIds(context.tx, appEnvId)
  return {
    answer: environmentResponse(
      draft,
      'Changing the password. When get-app-env-history lists ROTATE_PASSWORD as DONE, apply the environments whose variables refer to it',
    ),
    change,
    impact: { actions: ['change-credential'], downtimeSeconds: dependents.length > 0 ? null : 0 },
    effects: [
      'New connections with the old password are refused.',
      `Environments with variables that refer to it: ${dependents.length}. Apply their pending changes (apply-app-env-changes).`,
    ],
    wake: [appEnvId],
  }
})
