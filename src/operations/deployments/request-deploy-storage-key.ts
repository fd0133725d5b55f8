import { requestDeployStorageKey } from '../../contract/deployments.ts'
import { newToken, tokenHash } from '../../domain/access/tokens.ts'
import { newId } from '../../domain/ids.ts'
import { AppError } from '../../errors.ts'
import { countUnusedUploads, insertUpload, keepNewestUnused } from '../../store/repositories/uploads.ts'
import { handler } from '../core/handler.ts'

const uploadMinutes = 15
/** Each may hold a large archive, so unused uploads are limited to protect the disk. */
const mostUnused = 20

export default handler(requestDeployStorageKey, async (context, input, { environment, app }) => {
  const { tx, now, installation } = context
  if (app.isDatabase) {
    throw new AppError('invalid', 'A managed database cannot deploy code', {
      details: 'Its image comes from the preset; create an app for your code.',
    })
  }
  const since = new Date(Date.parse(now) - uploadMinutes * 60_000).toISOString()
  if ((await countUnusedUploads(tx, environment.appEnvId, since)) >= mostUnused) {
    throw new AppError('invalid', 'Too many unused uploads', {
      details: `${mostUnused} upload addresses of the last ${uploadMinutes} minutes are still unused. Deploy from one of them, or wait.`,
    })
  }
  await keepNewestUnused(tx, environment.appEnvId, mostUnused - 1, now)
  const uploadId = newId('upl')
  const secret = newToken('environment').slice('lse_'.length)
  const expiresAt = new Date(Date.parse(now) + uploadMinutes * 60_000).toISOString()
  const { appEnvId, accountId } = environment
  await insertUpload(
    tx,
    { uploadId, appEnvId, extension: input.fileExtension, state: 'requested', expiresAt },
    tokenHash(secret),
    now,
  )
  return {
    answer: {
      uploadUrl: `${context.apiUrl}/uploads/${secret}`,
      storageKey: uploadId,
      envUrl: installation.hosts(environment, app)[0]?.url ?? '',
      expiresAt,
    },
    change: {
      objectType: 'upload',
      objectId: uploadId,
      accountId,
      before: null,
      after: { uploadId, appEnvId },
    },
    impact: { actions: ['create-object'] },
    effects: ['Creates one upload address, valid for 15 minutes.'],
  }
})
