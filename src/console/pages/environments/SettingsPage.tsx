import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { deleteAppEnv, updateAppEnv } from '../../../contract/app-envs.ts'
import { useWrite } from '../../api/queries.ts'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { NameForm } from '../../components/NameForm.tsx'
import { Time } from '../../components/Time.tsx'
import { toast } from '../../components/toasts.tsx'
import { useEnvironment } from './environment.ts'

/** Name and facts of the environment, and its deletion. */
export function SettingsPage() {
  return (
    <div className="stack">
      <General />
      <DangerZone />
    </div>
  )
}

function General() {
  const { appEnvId, name, revision, createdAt, updatedAt } = useEnvironment()
  const write = useWrite(updateAppEnv)
  return (
    <NameForm
      title="General"
      label="Name"
      of={appEnvId}
      name={name}
      revision={revision}
      write={write}
      onSave={(typed, expectedRevision) =>
        write.mutate({ appEnvId, name: typed, expectedRevision }, { onSuccess: () => toast('Name saved.') })
      }
    >
      <span className="muted small">
        <code>{appEnvId}</code>, created <Time at={createdAt} />, changed <Time at={updatedAt} />
      </span>
    </NameForm>
  )
}

function DangerZone() {
  const { appEnvId, cliEnvName } = useEnvironment()
  const [confirming, setConfirming] = useState(false)
  const navigate = useNavigate()
  return (
    <section className="panel" aria-labelledby="danger">
      <header>
        <h2 id="danger">Danger zone</h2>
      </header>
      <div className="body row">
        <p style={{ flex: '1 1 320px' }}>
          Deleting ends every container and removes volumes, uploads, logs and alerts. It cannot be undone.
        </p>
        <button type="button" className="button danger" onClick={() => setConfirming(true)}>
          Delete environment
        </button>
      </div>
      {confirming && (
        <ConfirmWrite
          row={deleteAppEnv}
          input={{ appEnvId }}
          title={`Delete ${cliEnvName}?`}
          action="Delete environment"
          danger
          typed={cliEnvName}
          done={({ message }) => message}
          onClose={() => setConfirming(false)}
          onDone={() => void navigate({ to: '/', search: ({ account }) => ({ account }) })}
        />
      )}
    </section>
  )
}
