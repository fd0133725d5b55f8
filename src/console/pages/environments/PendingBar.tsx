import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { applyAppEnvChanges, discardAppEnvChanges } from '../../../contract/app-env-actions.ts'
import type { AppEnv } from '../../../contract/app-envs.ts'
import type { AppError } from '../../../errors.ts'
import { preview } from '../../api/client.ts'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { Diff } from '../../components/Diff.tsx'
import { Loading } from '../../components/states.tsx'
import { fieldLabel } from '../../words/fields.ts'
import { inWords } from '../../words/text.ts'

/** Shows pending changes on every page of the environment. */
export function PendingBar({ environment }: { environment: AppEnv }) {
  const [dialog, setDialog] = useState<'apply' | 'discard' | null>(null)
  const [shows, setShows] = useState(false)
  const { pendingChanges, appEnvId, revision } = environment
  const { hasBuildChanges, hasDeployChanges, deployPendingChanges } = pendingChanges
  if (!hasBuildChanges && !hasDeployChanges) return null
  const fields = [...new Set(deployPendingChanges.map(({ field }) => fieldLabel(field)))]
  const input = { appEnvId, expectedRevision: revision }
  return (
    <section className="note tone-warn stack pending" aria-label="Pending changes">
      <div className="row">
        <span>
          <strong>Saved, not applied: </strong>
          {fields.join(', ') || 'settings'}
          {hasBuildChanges && '. Applying builds the source again.'}
        </span>
        <button type="button" className="button primary compact" onClick={() => setDialog('apply')}>
          Review and apply
        </button>
        <button type="button" className="button compact" onClick={() => setDialog('discard')}>
          Discard
        </button>
      </div>
      <details onToggle={(event) => setShows(event.currentTarget.open)}>
        <summary>Show the changes</summary>
        {shows && <PendingDiff environment={environment} />}
      </details>
      {dialog === 'apply' && (
        <ConfirmWrite
          row={applyAppEnvChanges}
          input={input}
          title="Apply the pending changes?"
          action="Apply"
          changes={false}
          done={({ message }) => message}
          onClose={() => setDialog(null)}
        >
          <PendingDiff environment={environment} />
        </ConfirmWrite>
      )}
      {dialog === 'discard' && (
        <ConfirmWrite
          row={discardAppEnvChanges}
          input={input}
          title="Discard the pending changes?"
          action="Discard changes"
          danger
          done={({ message }) => message}
          onClose={() => setDialog(null)}
        />
      )}
    </section>
  )
}

/** The effect of applying: the preview of discarding, reversed. */
function PendingDiff({ environment: { appEnvId, revision } }: { environment: AppEnv }) {
  const read = useQuery<Awaited<ReturnType<typeof preview>>, AppError>({
    queryKey: ['preview', discardAppEnvChanges.id, appEnvId, revision],
    queryFn: () => preview(discardAppEnvChanges, { appEnvId }),
    gcTime: 0,
  })
  if (read.error)
    return <p className="muted small">The changes cannot be shown: {inWords(read.error.message)}.</p>
  if (!read.data) return <Loading rows={2} />
  return (
    <Diff
      changes={read.data.changes.map(({ path, before, after }) => ({ path, before: after, after: before }))}
    />
  )
}
