import { useState } from 'react'
import { updateAccount } from '../../../contract/accounts.ts'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { counted } from '../../components/words.ts'
import { useAccount } from '../../shell/account.ts'
import { closedBySwitch, type ListedEnvironment, type Member } from './access-draft.ts'

interface Props {
  members: readonly Member[]
  environments: readonly ListedEnvironment[]
}

/** M5: turning it on restricts only members with a list; turning it off gives full access and keeps the lists. */
export function AccessSwitch({ members, environments }: Props) {
  const { accountId, settings } = useAccount()
  const [confirming, setConfirming] = useState(false)
  const isOn = settings.memberEnvAccessEnabled
  const affected = closedBySwitch(members, environments)
  return (
    <section className={`note row tone-${isOn ? 'ok' : 'idle'}`} aria-label="Per-environment access">
      <span style={{ flex: '1 1 320px' }}>
        <strong>Per-environment access is {isOn ? 'on' : 'off'}. </strong>
        {isOn
          ? 'Members with a list can access only the environments on it.'
          : 'Every member can access every environment; the lists below take effect when it is on.'}
      </span>
      <button type="button" className="button" onClick={() => setConfirming(true)}>
        Switch {isOn ? 'off' : 'on'}
      </button>
      {confirming && (
        <ConfirmWrite
          row={updateAccount}
          input={{ accountId, memberEnvAccessEnabled: !isOn }}
          title={`Switch per-environment access ${isOn ? 'off' : 'on'}?`}
          action={isOn ? 'Switch off' : 'Switch on'}
          danger={isOn}
          done={({ message }) => message}
          onClose={() => setConfirming(false)}
        >
          <h3>Access that this {isOn ? 'opens' : 'closes'}</h3>
          {affected.length === 0 && <p>None: every member's list covers all environments.</p>}
          {affected.length > 0 && (
            <ul className="effects">
              {affected.map(({ member, count }) => (
                <li key={member.membershipId}>
                  {member.name}: {counted(count, 'environment')}
                </li>
              ))}
            </ul>
          )}
        </ConfirmWrite>
      )}
    </section>
  )
}
