import { useParams } from '@tanstack/react-router'
import { useAccount } from '../../shell/account.ts'
import { callerWords, shortId, surfaceNames } from '../activity/entries.ts'
import { CallerActivity } from './CallerActivity.tsx'

/** One agent session: its activity, and its refused calls. */
export function SessionPage() {
  const { accountId } = useAccount()
  const { sessionId } = useParams({ from: '/frame/sessions/$sessionId' })
  return (
    <CallerActivity
      accountId={accountId}
      fixed={{ session: sessionId }}
      heading={(newest) => ({
        title: `Session ${shortId(sessionId)}`,
        about: newest
          ? `${callerWords(newest)} · ${surfaceNames[newest.surface]}`
          : 'No entries in this account',
      })}
    />
  )
}
