import { useState } from 'react'
import { updateAccount } from '../../contract/accounts.ts'
import { ConfirmWrite } from '../components/ConfirmWrite.tsx'
import { useAccount } from './account.ts'

/** Stops every write of agents of the account, from every page; for admins. */
export function PauseAgents() {
  const { permissions, settings } = useAccount()
  const [confirming, setConfirming] = useState(false)
  if (!permissions.admin) return null
  const { agentsPaused } = settings
  return (
    <>
      <button
        type="button"
        role="switch"
        aria-checked={agentsPaused}
        className="button compact"
        onClick={() => setConfirming(true)}
      >
        Pause agents
        <span className={agentsPaused ? 'count' : 'muted small'} aria-hidden="true">
          {agentsPaused ? 'on' : 'off'}
        </span>
      </button>
      {confirming && <ConfirmSwitch paused={!agentsPaused} onClose={() => setConfirming(false)} />}
    </>
  )
}

/** On every page while agents are paused, for all members. */
export function PausedBanner() {
  const { permissions, settings } = useAccount()
  const [confirming, setConfirming] = useState(false)
  if (!settings.agentsPaused) return null
  return (
    <section className="banner" aria-label="Agents are paused">
      <strong role="status">Agents are paused.</strong>
      <span>Every write of a caller that is not a person is refused. Their approvals wait.</span>
      {permissions.admin && (
        <button type="button" className="button compact" onClick={() => setConfirming(true)}>
          Resume agents
        </button>
      )}
      {confirming && <ConfirmSwitch paused={false} onClose={() => setConfirming(false)} />}
    </section>
  )
}

function ConfirmSwitch({ paused, onClose }: { paused: boolean; onClose: () => void }) {
  const { accountId, name } = useAccount()
  const label = paused ? 'Pause agents' : 'Resume agents'
  return (
    <ConfirmWrite
      row={updateAccount}
      input={{ accountId, agentsPaused: paused }}
      title={`${label} of ${name}?`}
      action={label}
      danger={paused}
      changes={false}
      done={() => (paused ? 'Agents are paused.' : 'Agents may write again.')}
      onClose={onClose}
    />
  )
}
