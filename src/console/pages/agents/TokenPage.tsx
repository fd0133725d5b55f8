import { useParams } from '@tanstack/react-router'
import { listUserTokens } from '../../../contract/users.ts'
import { useRead } from '../../api/queries.ts'
import { useAccount } from '../../shell/account.ts'
import { tokenName } from '../../words/tokens.ts'
import { callerWords, shortId } from '../activity/entries.ts'
import { CallerActivity } from './CallerActivity.tsx'

/** One token: its activity, and its refused calls. Only its owner sees its name. */
export function TokenPage() {
  const { accountId } = useAccount()
  const { tokenId } = useParams({ from: '/frame/tokens/$tokenId' })
  const own = useRead(listUserTokens, {}).data?.tokens.find((one) => one.tokenId === tokenId)
  return (
    <CallerActivity
      accountId={accountId}
      fixed={{ token: tokenId }}
      heading={(newest) => ({
        title: own ? `Token ${tokenName(own)}` : `Token ${shortId(tokenId)}`,
        about: newest ? `Used by ${callerWords(newest)}` : 'No entries in this account',
      })}
    />
  )
}
