import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Operation, OutputOf, RawInputOf } from '../../contract/operation.ts'
import type { AppError } from '../../errors.ts'
import { preview } from '../api/client.ts'
import { useWrite } from '../api/queries.ts'
import { inWords } from '../words/text.ts'
import { Dialog } from './Dialog.tsx'
import { Diff } from './Diff.tsx'
import { Loading, Problem } from './states.tsx'
import { toast } from './toasts.tsx'

interface Props<Row extends Operation> {
  row: Row
  input: RawInputOf<Row>
  title: string
  /** Label of the submit button, such as "Delete environment". */
  action: string
  /** Label of the button that does not; `Cancel` when left out. */
  dismiss?: string
  danger?: boolean
  /** False where the page shows the changes itself. */
  changes?: boolean
  /** Must be typed before the button works. */
  typed?: string
  done: (answer: OutputOf<Row>) => string
  /** Consequences that the platform's dry run does not mention. */
  children?: React.ReactNode
  onClose: () => void
  onDone?: () => void
}

/** For an object that is created or deleted, the effects are clearer than a list of all its fields. */
const isPart = ({ path }: { path: string }) => path !== ''

/** Asks for confirmation of a write, and shows the changes and effects from the platform's dry run. */
export function ConfirmWrite<Row extends Operation>(props: Props<Row>) {
  const { row, input, title, action, typed, onClose } = props
  const [text, setText] = useState('')
  const write = useWrite(row)
  const dryRun = useQuery<Awaited<ReturnType<typeof preview>>, AppError>({
    queryKey: ['preview', row.id, input],
    queryFn: () => preview(row, input),
    gcTime: 0,
  })
  const ready = dryRun.isSuccess && (typed === undefined || text === typed) && !write.isPending
  const submit = () => {
    if (!ready) return
    write.mutate(input, {
      onSuccess(answer) {
        toast(props.done(answer))
        onClose()
        props.onDone?.()
      },
    })
  }
  return (
    <Dialog
      title={title}
      onClose={onClose}
      {...(props.dismiss ? { dismiss: props.dismiss } : {})}
      onSubmit={submit}
      actions={
        <button type="submit" className={`button ${props.danger ? 'danger' : 'primary'}`} disabled={!ready}>
          {write.isPending ? 'Working…' : action}
        </button>
      }
    >
      {dryRun.isPending && <Loading rows={2} />}
      {dryRun.data && (
        <>
          <ul className="effects">
            {dryRun.data.effects.map((effect) => (
              <li key={effect}>{inWords(effect)}</li>
            ))}
          </ul>
          {props.changes !== false && <Diff changes={dryRun.data.changes.filter(isPart)} />}
        </>
      )}
      {props.children}
      {typed !== undefined && (
        <label className="field">
          <span>
            Type <code>{typed}</code> to confirm
          </span>
          <input value={text} onChange={(event) => setText(event.target.value)} autoComplete="off" />
        </label>
      )}
      <Problem error={write.error ?? dryRun.error} />
    </Dialog>
  )
}
