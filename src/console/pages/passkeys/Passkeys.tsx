import { useState } from 'react'
import type { OutputOf } from '../../../contract/operation.ts'
import { createUserPasskey, listUserPasskeys, removeUserPasskey } from '../../../contract/sign-in.ts'
import type { AppError } from '../../../errors.ts'
import { makePasskey } from '../../api/passkeys.ts'
import { useRead, useWrite } from '../../api/queries.ts'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { Dialog } from '../../components/Dialog.tsx'
import { Failed, Loading, Problem } from '../../components/states.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { TextField } from '../../components/TextField.tsx'
import { Time } from '../../components/Time.tsx'
import { toast } from '../../components/toasts.tsx'

type Passkey = OutputOf<typeof listUserPasskeys>['passkeys'][number]

const columns: Column<Passkey>[] = [
  { title: 'Name', cell: ({ name }) => name },
  {
    title: 'Works at',
    cell: ({ rpId }) => (
      <>
        <code>{rpId}</code>
        {rpId !== location.hostname && <span className="muted small"> (not at this address)</span>}
      </>
    ),
  },
  { title: 'Added', cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    title: 'Last used',
    cell: ({ lastUsedAt }) => (lastUsedAt ? <Time at={lastUsedAt} /> : <span className="muted">Never</span>),
  },
]

export function Passkeys() {
  const read = useRead(listUserPasskeys, {})
  const [adds, setAdds] = useState(false)
  const [removing, setRemoving] = useState<Passkey | null>(null)
  return (
    <section className="panel" aria-labelledby="passkeys">
      <header>
        <h2 id="passkeys">Passkeys</h2>
        <span className="muted small">Sign in with the lock of a device instead of a token.</span>
        <div className="actions">
          <button type="button" className="button primary" onClick={() => setAdds(true)}>
            Add passkey
          </button>
        </div>
      </header>
      {read.error && !read.data && <Failed error={read.error} retry={() => read.refetch()} />}
      {read.isPending && <Loading />}
      {read.data && read.data.passkeys.length === 0 && <p className="body muted">You have no passkey yet.</p>}
      {read.data && read.data.passkeys.length > 0 && (
        <Table
          label="List of passkeys"
          columns={columns}
          rows={read.data.passkeys}
          keyOf={({ passkeyId }) => passkeyId}
          actions={(passkey) => (
            <button type="button" className="button compact" onClick={() => setRemoving(passkey)}>
              Remove<span className="hidden-text"> {passkey.name}</span>
            </button>
          )}
        />
      )}
      {adds && <AddPasskey onClose={() => setAdds(false)} />}
      {removing && (
        <ConfirmWrite
          row={removeUserPasskey}
          input={{ passkeyId: removing.passkeyId }}
          title={`Remove “${removing.name}”?`}
          action="Remove passkey"
          danger
          done={({ message }) => message}
          onClose={() => setRemoving(null)}
        />
      )}
    </section>
  )
}

function AddPasskey({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('')
  const [refusal, setRefusal] = useState<AppError | null>(null)
  const [asks, setAsks] = useState(false)
  const write = useWrite(createUserPasskey)
  const add = async () => {
    setRefusal(null)
    setAsks(true)
    try {
      const { message } = await write.mutateAsync({ name, credential: await makePasskey() })
      toast(message)
      onClose()
    } catch (error) {
      setRefusal(error as AppError)
      setAsks(false)
    }
  }
  return (
    <Dialog
      title="Add a passkey"
      onClose={onClose}
      onSubmit={() => void add()}
      actions={
        <button type="submit" className="button primary" disabled={asks}>
          {asks ? 'Waiting for the device…' : 'Add'}
        </button>
      }
    >
      <TextField
        label="Name"
        name="name"
        error={refusal}
        hint="What holds it, such as “Phone”"
        value={name}
        required
        set={setName}
      />
      <Problem error={refusal} />
    </Dialog>
  )
}
