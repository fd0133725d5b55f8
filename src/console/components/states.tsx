import { Link } from '@tanstack/react-router'
import { ApprovalPending } from '../../client/approval-pending.ts'
import type { AppError } from '../../errors.ts'
import { inWords } from '../words/text.ts'
import { PageTitle } from './PageTitle.tsx'

/** Loading placeholder, announced once to screen readers. */
export function Loading({ rows = 4 }: { rows?: number }) {
  return (
    <div role="status" className="body stack">
      <span className="hidden-text">Loading</span>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the blocks are all alike
        <div key={row} className="skeleton" style={{ width: `${92 - ((row * 17) % 45)}%` }} />
      ))}
    </div>
  )
}

export function Empty({ title, children }: { title: string; children?: React.ReactNode }) {
  return (
    <div className="state">
      <h2>{title}</h2>
      {children && <div className="muted">{children}</div>}
    </div>
  )
}

/** M2: the same page for missing objects and for objects without access. */
export function NotFound() {
  return (
    <div className="state">
      <PageTitle>Page not found</PageTitle>
      <p className="muted">This page does not exist, or you have no access to it.</p>
      <Link to="/" className="button">
        Go to the overview
      </Link>
    </div>
  )
}

/** A page whose code could not be loaded, or which has an error of its own. */
export function Broken() {
  return (
    <div className="state" role="alert">
      <h1>This page cannot be shown</h1>
      <p className="muted">
        The connection may be lost, or the platform may have a new version. If it stays, report it.
      </p>
      <button type="button" className="button" onClick={() => location.reload()}>
        Reload
      </button>
    </div>
  )
}

/** Shows the platform's error. Use `hidesForbidden` on pages of one environment (M2). */
export function Failed({
  error,
  retry,
  hidesForbidden = false,
}: {
  error: AppError
  retry?: () => void
  hidesForbidden?: boolean
}) {
  if (error.kind === 'not-found' || (hidesForbidden && error.kind === 'forbidden')) return <NotFound />
  const title = error.kind === 'forbidden' ? 'You do not have permission for this' : inWords(error.message)
  return (
    <div className="state" role="alert">
      <h2>{title}</h2>
      <p className="muted">
        {error.kind === 'forbidden' && `${inWords(error.message)}. `}
        {error.details && inWords(error.details)}
      </p>
      {retry && error.kind !== 'forbidden' && (
        <button type="button" className="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** The error of a form or action, next to its inputs. */
export function Problem({ error }: { error: AppError | null }) {
  if (!error) return null
  if (error instanceof ApprovalPending) return <Held approval={error.approval} />
  return (
    <div role="alert" className="note tone-bad">
      <strong>{inWords(error.message)}</strong>
      {error.details && <span>{inWords(error.details)}</span>}
      {error.rule === 'second-step' && (
        <a href={`/console/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`}>
          Sign in again
        </a>
      )}
    </div>
  )
}

/** The write waits for the decision of a person: nothing has changed, and nothing failed. */
function Held({ approval: { approvalId } }: Pick<ApprovalPending, 'approval'>) {
  return (
    <div role="alert" className="note tone-busy">
      <strong>A person has to approve this</strong>
      <span>
        Nothing has changed yet.{' '}
        <Link to="/approvals/$approvalId" params={{ approvalId }} search={({ account }) => ({ account })}>
          Open the approval
        </Link>
      </span>
    </div>
  )
}
