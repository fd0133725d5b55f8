import { listDatabasePresets } from '../contract/databases.ts'
import { presetsRead } from '../domain/database-presets.ts'
import { handler } from './handler.ts'

export default handler(listDatabasePresets, async ({ installation }) => ({
  answer: { presets: presetsRead(installation.databaseOffers(), installation.databaseImageSource) },
}))
