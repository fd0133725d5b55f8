import { useParams, useSearch } from '@tanstack/react-router'
import { useAccount } from '../../shell/account.ts'
import { actor, surfaceNames } from '../activity/entries.ts'
import { CallerActivity } from './CallerActivity.tsx'

/** Completed and rejected writes of one caller; `?surface=` limits them to one surface, such as MCP. */
export function AgentPage() {
  const { accountId } = useAccount()
  const { principalId } = useParams({ from: '/frame/agents/$principalId' })
  const { surface } = useSearch({ from: '/frame/agents/$principalId' })
  return (
    <CallerActivity
      accountId={accountId}
      fixed={{ who: principalId, surface }}
      heading={(newest) => ({
        title: newest ? actor(newest) : 'Unknown caller',
        about: (
          <>
            {surface ? surfaceNames[surface] : 'Every surface'} · <code>{principalId}</code>
          </>
        ),
      })}
    />
  )
}
