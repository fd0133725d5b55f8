import { useParams, useSearch } from '@tanstack/react-router'
import { useAccount } from '../../shell/account.ts'
import { actor, agentName, surfaceNames } from '../activity/entries.ts'
import { AgentDetails } from './AgentDetails.tsx'
import { CallerActivity } from './CallerActivity.tsx'

/** Completed and rejected writes of one caller; `?surface=` limits them to one surface, such as MCP. */
export function AgentPage() {
  const { accountId } = useAccount()
  const { principalId } = useParams({ from: '/frame/agents/$principalId' })
  const { surface, agent } = useSearch({ from: '/frame/agents/$principalId' })
  return (
    <CallerActivity
      accountId={accountId}
      details={agent && <AgentDetails accountId={accountId} principalId={principalId} agent={agent} />}
      fixed={{ who: principalId, surface, agent }}
      heading={(newest) => ({
        title: agent ? agentName(agent) : newest ? actor(newest) : 'Unknown caller',
        about: (
          <>
            {agent && newest && `for ${actor(newest)} · `}
            {surface ? surfaceNames[surface] : 'Every surface'}
          </>
        ),
      })}
    />
  )
}
