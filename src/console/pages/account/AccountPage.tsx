import { useState } from 'react'
import { type AccountSettings, updateAccount } from '../../../contract/accounts.ts'
import { useWrite } from '../../api/queries.ts'
import { Checkbox } from '../../components/Checkbox.tsx'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { NameForm } from '../../components/NameForm.tsx'
import { PageTitle } from '../../components/PageTitle.tsx'
import { type NumberSetting, SettingsForm } from '../../components/SettingsForm.tsx'
import { toast } from '../../components/toasts.tsx'
import { useAccount } from '../../shell/account.ts'
import { fieldLabel } from '../../words/fields.ts'
import { Invitations } from '../invitations/Invitations.tsx'
import { Chats } from './Chats.tsx'

/** Name, limits and switches of the account. All members see them; only admins can change them. */
export function AccountPage() {
  const { permissions, accountId } = useAccount()
  return (
    <>
      <div className="page-head">
        <PageTitle>Account settings</PageTitle>
        <span className="muted">
          <code>{accountId}</code>
        </span>
      </div>
      <div className="stack" key={accountId}>
        {!permissions.admin && (
          <p className="note tone-idle">Only an admin of the account can change these.</p>
        )}
        <AccountName />
        <Limits />
        <Switches />
        <Chats />
        <Invitations />
      </div>
    </>
  )
}

function AccountName() {
  const { accountId, name, revision, permissions } = useAccount()
  const write = useWrite(updateAccount)
  return (
    <NameForm
      title="Name"
      label="Account name"
      of={accountId}
      name={name}
      revision={revision}
      disabled={!permissions.admin}
      write={write}
      onSave={(typed, expectedRevision) =>
        write.mutate(
          { accountId, name: typed, expectedRevision },
          { onSuccess: ({ message }) => toast(message) },
        )
      }
    />
  )
}

function Limits() {
  const { accountId, settings, revision } = useAccount()
  const write = useWrite(updateAccount)
  return (
    <SettingsForm
      title="Limits and defaults"
      of={accountId}
      action="Save"
      settings={limitsOf(settings)}
      revision={revision}
      write={write}
      onSave={(changed, expectedRevision) =>
        write.mutate(
          { accountId, ...changed, expectedRevision },
          { onSuccess: ({ message }) => toast(message) },
        )
      }
    />
  )
}

function limitsOf(settings: AccountSettings): NumberSetting[] {
  const limit = (name: keyof AccountSettings, hint: string, min = 1): NumberSetting => ({
    name,
    hint,
    value: Number(settings[name]),
    min,
  })
  return [
    limit('zCloudLimit', 'zClouds that may run at the same time'),
    limit('functionMaxScale', 'Containers'),
    limit('functionMaxMinScale', 'Containers', 0),
    limit('functionDefaultMaxScale', 'Containers at most'),
    limit('functionMinIdleTimeoutSeconds', 'Seconds', 300),
    limit('functionDefaultIdleTimeoutSeconds', 'Seconds', 300),
    limit('reauthenticateSeconds', 'Seconds, before people decide, read secrets or change access; 0: off', 0),
  ]
}

const switches = ['allowAutoScaling', 'functionScaleToZero'] as const

function Switches() {
  const { accountId, settings, permissions } = useAccount()
  const [confirming, setConfirming] = useState<(typeof switches)[number] | null>(null)
  return (
    <section className="panel" aria-labelledby="switches">
      <header>
        <h2 id="switches">What is allowed</h2>
      </header>
      <div className="body stack">
        {switches.map((name) => (
          <Checkbox
            key={name}
            checked={settings[name]}
            disabled={!permissions.admin}
            set={() => setConfirming(name)}
          >
            {fieldLabel(name)}
          </Checkbox>
        ))}
      </div>
      {confirming && (
        <ConfirmWrite
          row={updateAccount}
          input={{ accountId, [confirming]: !settings[confirming] }}
          title={`Switch ${settings[confirming] ? 'off' : 'on'}: ${fieldLabel(confirming)}?`}
          action={settings[confirming] ? 'Switch off' : 'Switch on'}
          done={({ message }) => message}
          onClose={() => setConfirming(null)}
        />
      )}
    </section>
  )
}
