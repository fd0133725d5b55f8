import { type Clock, timestamp } from '../../clock.ts'
import { updateAppEnvVariables } from '../../contract/app-env-actions.ts'
import { secretMask } from '../../contract/fields.ts'
import { tokenHash } from '../../domain/access/tokens.ts'
import { AppError } from '../../errors.ts'
import type { Db } from '../../store/db.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import { findSecretRequest, takeSecretRequest } from '../../store/repositories/secret-requests.ts'
import { newTraceparent } from '../../trace.ts'
import type { OperationRunner } from '../core/call.ts'
import { unknownToken } from '../core/caller.ts'

/** The facts about the variable that the page of a link shows. */
export interface RequestedSecret {
  envName: string
  variable: string
  expiresAt: string
}

/** The one-time links of request-secret. Unknown, used and expired codes throw `unauthenticated`. */
export interface SecretEntry {
  find(code: string, address: string): Promise<RequestedSecret>
  /** Saves the value as the requester would, with the permissions that the requester has now, and ends the link. */
  enter(code: string, value: string, address: string): Promise<RequestedSecret>
}

export function createSecretEntry(deps: { db: Db; clock: Clock; runner: OperationRunner }): SecretEntry {
  const { db, clock, runner } = deps

  /** Wrong codes count against the address like wrong tokens, and the requester's rate limits apply. */
  async function open(code: string, address: string, reads: boolean) {
    await runner.authenticate(code, { address, reads, credential: 'secret-link' })
    return await db.read(async (tx) => {
      const request = await findSecretRequest(tx, tokenHash(code), timestamp(clock.wallMs()))
      const environment = request && (await findEnvironment(tx, { appEnvId: request.appEnvId }))
      if (!request || !environment) throw unknownToken()
      const { appEnvId, variable, expiresAt } = request
      return { appEnvId, shown: { envName: environment.cliEnvName, variable, expiresAt } }
    })
  }

  return {
    async find(code, address) {
      return (await open(code, address, true)).shown
    },
    async enter(code, value, address) {
      const { appEnvId, shown } = await open(code, address, false)
      const set = [{ name: shown.variable, value, isSecret: true }]
      const parsed = updateAppEnvVariables.input.safeParse({ appEnvId, set })
      // In other operations the mask keeps the stored value. Here it would use up the link without saving a value.
      if (value === '' || value.trim() === secretMask || !parsed.success) {
        throw new AppError('invalid', 'This value cannot be saved', {
          details: `Enter at least one character, no more than a variable may have, and the secret itself, not ${secretMask}.`,
        })
      }
      await runner.run({
        operation: updateAppEnvVariables,
        input: parsed.data,
        token: code,
        credential: 'secret-link',
        surface: 'link',
        clientAddress: address,
        traceparent: newTraceparent(),
        idempotencyKey: null,
        dryRun: false,
        // In the transaction of the change: a refused value leaves the link, a saved one ends it.
        also: async (tx) => {
          if (!(await takeSecretRequest(tx, tokenHash(code)))) throw unknownToken()
        },
      })
      return shown
    },
  }
}
