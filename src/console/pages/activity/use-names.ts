import { listAppEnvs } from '../../../contract/app-envs.ts'
import { listUserTokens } from '../../../contract/users.ts'
import { useRead } from '../../api/queries.ts'
import { tokenName } from '../../words/tokens.ts'

/** Names by id: of the environments that the reader can access, and of the reader's own tokens. */
export function useNames(accountId: string) {
  const environments = useRead(listAppEnvs, { accountId }, { everyMs: 30_000 })
  const own = useRead(listUserTokens, {})
  const names = new Map(environments.data?.appEnvs.map((one) => [one.appEnvId, one.cliEnvName]))
  const tokenNames = new Map(own.data?.tokens.map((token) => [token.tokenId, tokenName(token)]))
  return { names, nameOf: (id: string) => names.get(id) ?? tokenNames.get(id) }
}
