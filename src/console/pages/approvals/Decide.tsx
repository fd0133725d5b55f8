import type { Approval } from '../../../contract/approvals.ts'
import { useKept } from '../../api/drafts.ts'
import { Field } from '../../components/Field.tsx'
import type { FormWrite } from '../../components/form.ts'
import { Problem } from '../../components/states.tsx'

type Decision = { decision: 'approve' | 'deny'; comment?: string }

interface Props {
  approval: Pick<Approval, 'approvalId' | 'approvers' | 'requestedBy' | 'decisions'>
  /** The person who reads the page. */
  userId: string | undefined
  write: Pick<FormWrite, 'error' | 'isPending'>
  decide: (decision: Decision) => void
}

/** The decision over exactly what the page shows. */
export function Decide({ approval, userId, write, decide }: Props) {
  const [comment, setComment] = useKept(`decide ${approval.approvalId}`, '')
  const barred = barredFrom(approval, userId)
  const send = (decision: Decision['decision']) =>
    decide({ decision, ...(comment.trim() === '' ? {} : { comment: comment.trim() }) })
  return (
    <form
      className="panel"
      aria-label="Your decision"
      onSubmit={(event) => {
        event.preventDefault()
        if (barred === null) send('approve')
      }}
    >
      <div className="body stack">
        <Field
          label="Comment"
          name="comment"
          error={write.error}
          hint="The requester reads it. For a denial: what to do instead."
        >
          {(props) => (
            <textarea
              {...props}
              value={comment}
              maxLength={2000}
              onChange={(event) => setComment(event.target.value)}
            />
          )}
        </Field>
        {barred !== null && <p className="note tone-idle">{barred}</p>}
        <Problem error={write.error} />
        <div className="row">
          <button type="submit" className="button primary" disabled={write.isPending || barred !== null}>
            {write.isPending ? 'Working…' : 'Approve'}
          </button>
          <button
            type="button"
            className="button danger"
            disabled={write.isPending}
            onClick={() => send('deny')}
          >
            Deny
          </button>
          <span className="muted small">An approval runs it at once, in the name of the requester.</span>
        </div>
      </div>
    </form>
  )
}

/** Why this person cannot approve; the platform checks it again. */
function barredFrom(
  { approvers, requestedBy, decisions }: Props['approval'],
  userId: string | undefined,
): string | null {
  if (approvers.notRequester && requestedBy.userId === userId)
    return 'You requested this, so another person has to approve it.'
  if (decisions.some((one) => one.userId === userId && one.decision === 'approve'))
    return 'You approved this. It needs another person as well.'
  return null
}
