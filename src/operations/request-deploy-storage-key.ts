import { requestDeployStorageKey } from '../contract/deployments.ts'
import { newId } from '../domain/ids.ts'
import { newToken, tokenHash } from '../domain/tokens.ts'
import { AppError } from '../errors.ts'
import { insertUpload } from '../store/uploads.ts'
import { handler } from './handler.ts'

const uploadMinutes = 15

export default handler(requestDeployStorageKey, async (context, input, { environment, app }) => {
  const { tx, now, installation } = context
  if (app.isDatabase) {
    throw new AppError('invalid', 'A managed database takes no code', {
      details: 'Its image comes from the preset; create an app for your code.',
    })
  }
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
    effects: ['Opens one upload address for 15 minutes.'],
  }
})
