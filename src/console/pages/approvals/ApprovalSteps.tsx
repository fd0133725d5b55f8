import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Approval } from '../../../contract/approvals.ts'
import { undoChange } from '../../../contract/audit.ts'
import { Badge } from '../../components/Badge.tsx'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { Diff } from '../../components/Diff.tsx'
import { operationWords } from '../../words/operations.ts'
import { inWords } from '../../words/text.ts'
import type { NameOf } from '../../words/values.ts'
import { ImpactPicture } from './ImpactPicture.tsx'

interface Props {
  approval: Pick<Approval, 'approvalId' | 'steps' | 'results' | 'status'>
  nameOf: NameOf
  /** Readers of the audit log open its entries, and undo them. */
  isAdmin: boolean
}

/** Each step with what it changes, as the person will have it; afterwards with its result. */
export function ApprovalSteps({ approval, nameOf, isAdmin }: Props) {
  const { steps, results } = approval
  return (
    <section className="panel" aria-labelledby="steps">
      <header>
        <h2 id="steps">{steps.length === 1 ? 'What it does' : `What its ${steps.length} steps do`}</h2>
      </header>
      <ol>
        {steps.map((step, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the steps of an approval never change
          <li key={index} className="entry stack">
            <div className="row">
              <strong>
                {steps.length > 1 && `${index + 1}. `}
                {operationWords(step.operation)}
              </strong>
              <StepResult approval={approval} index={index} isAdmin={isAdmin} />
            </div>
            <ul className="effects">
              {step.effects.map((effect) => (
                <li key={effect}>{inWords(effect)}</li>
              ))}
            </ul>
            <Diff changes={step.changes as never} nameOf={nameOf} />
            {steps.length > 1 && <ImpactPicture impact={step.impact} nameOf={nameOf} />}
            {results[index]?.error !== undefined && (
              <div className="note tone-bad">
                <strong>{inWords(results[index].error)}</strong>
                {results[index].details && <span>{inWords(results[index].details)}</span>}
              </div>
            )}
          </li>
        ))}
      </ol>
    </section>
  )
}

function StepResult({ approval, index, isAdmin }: Omit<Props, 'nameOf'> & { index: number }) {
  const { approvalId, steps, results, status } = approval
  const [undoing, setUndoing] = useState(false)
  const result = results[index]
  if (status !== 'executed' && status !== 'failed') return null
  if (!result) return <Badge tone="idle">Not run</Badge>
  if (result.error !== undefined) return <Badge tone="bad">Failed</Badge>
  const { operation, impact } = steps[index]!
  const title = operationWords(operation)
  return (
    <>
      <Badge tone="ok">Done</Badge>
      {isAdmin && result.auditId !== null && (
        <span className="row when">
          <Link
            to="/activity"
            search={({ account }) => ({ account, approval: approvalId })}
            className="small"
          >
            In the activity<span className="hidden-text">: {title}</span>
          </Link>
          {impact.undo === 'undo-change' && (
            <button type="button" className="button compact" onClick={() => setUndoing(true)}>
              Undo<span className="hidden-text"> {title}</span>
            </button>
          )}
        </span>
      )}
      {undoing && (
        <ConfirmWrite
          row={undoChange}
          input={{ entryId: result.auditId! }}
          title={`Undo “${title}”?`}
          action="Undo"
          done={({ message }) => message}
          onClose={() => setUndoing(false)}
        />
      )}
    </>
  )
}
