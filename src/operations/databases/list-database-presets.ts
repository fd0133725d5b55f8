import { listDatabasePresets } from '../../contract/databases.ts'
import { presetsRead } from '../../domain/databases/presets.ts'
import { handler } from '../core/handler.ts'

export default handler(listDatabasePresets, async ({ installation }) => ({
  answer: { presets: presetsRead(installation.databaseAvailability(), installation.databaseImageSource) },
}))
