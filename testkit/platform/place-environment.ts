import type { Environment } from '../../src/domain/environments/environment.ts'
import type { Db } from '../../src/store/db.ts'
import { findEnvironment, saveEnvironment } from '../../src/store/repositories/environments.ts'

type Places = Partial<Pick<Environment, 'region' | 'servedFrom' | 'leftVolumeIn' | 'status' | 'desiredState'>>

/** Stores where an environment is, as a step of a move does. */
export function placeEnvironment(db: Db, appEnvId: string, places: Places): Promise<void> {
  return db.write(async (tx) => {
    const found = (await findEnvironment(tx, { appEnvId }))!
    const { servedFrom: _servedFrom, leftVolumeIn: _leftVolumeIn, ...environment } = found
    await saveEnvironment(tx, { ...environment, ...places })
  })
}
