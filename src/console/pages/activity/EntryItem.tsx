import { Link } from '@tanstack/react-router'
import { Badge } from '../../components/Badge.tsx'
import { Diff } from '../../components/Diff.tsx'
import { Time } from '../../components/Time.tsx'
import { counted } from '../../components/words.ts'
import { type ChangeWords, changeWords } from '../../words/changes.ts'
import { callerWords, type Entry, entryWords, objectWords, shortId, surfaceNames } from './entries.ts'

interface Props {
  entry: Entry
  /** Names by id: environments that the reader can access, and tokens of the reader. */
  nameOf: (id: string) => string | undefined
  /** A later entry undid this one. */
  isUndone: boolean
  undo: (entry: Entry) => void
}

export function EntryItem({ entry, nameOf, isUndone, undo }: Props) {
  const { timestamp, outcome, undid } = entry
  return (
    <li className="entry">
      <div className="row">
        <strong>{entryWords(entry)}</strong>
        {undid && (
          <span className="muted small">
            of <Time at={undid.timestamp} />
          </span>
        )}
        {outcome === 'refused' && <Badge tone="bad">Refused</Badge>}
        {isUndone && <Badge tone="idle">Undone</Badge>}
        <Caller entry={entry} nameOf={nameOf} />
        <span className="row when">
          <span className="muted small">
            <Time at={timestamp} />
          </span>
          {isUndoable(entry) && !isUndone && (
            <button type="button" className="button compact" onClick={() => undo(entry)}>
              Undo<span className="hidden-text"> {entryWords(entry)}</span>
            </button>
          )}
        </span>
      </div>
      <Subject entry={entry} nameOf={nameOf} />
      <Changes entry={entry} nameOf={nameOf} />
    </li>
  )
}

type Shown = Pick<Props, 'entry' | 'nameOf'>

/** The caller, its agent and origin, with links to other entries of the same agent, session and token. */
function Caller({ entry, nameOf }: Shown) {
  const { principal, agent, surface, sessionId, tokenId } = entry
  return (
    <span className="muted">
      by{' '}
      <Link
        to="/agents/$principalId"
        params={{ principalId: principal.id }}
        search={({ account }) => ({ account, surface, agent: agent ?? undefined })}
      >
        {callerWords(entry)}
      </Link>{' '}
      · {surfaceNames[surface]}
      {sessionId && (
        <>
          {' · '}
          <Link to="/sessions/$sessionId" params={{ sessionId }} search={({ account }) => ({ account })}>
            session {shortId(sessionId)}
          </Link>
        </>
      )}
      {tokenId && (
        <>
          {' · '}
          <Link to="/tokens/$tokenId" params={{ tokenId }} search={({ account }) => ({ account })}>
            token {nameOf(tokenId) ?? shortId(tokenId)}
          </Link>
        </>
      )}
    </span>
  )
}

function Subject({ entry, nameOf }: Shown) {
  const envName = nameOf(entry.objectId)
  return (
    <span className="muted small">
      {envName !== undefined && entry.objectType === 'app-env' ? (
        <Link to="/environments/$envName" params={{ envName }} search={({ account }) => ({ account })}>
          {envName}
        </Link>
      ) : (
        objectWords(entry)
      )}
    </span>
  )
}

/** Few changes are read at a glance; more of them open as a table. */
const mostAtGlance = 3
const longest = 60

function Changes({ entry: { changes }, nameOf }: Shown) {
  const rows = changeWords(changes, nameOf)
  // An object that was created or deleted has only one side.
  const isWhole = changes.some(({ path }) => path === '')
  if (rows.length === 0) return null
  const isShort = (text: string | null) => (text ?? '').length <= longest
  const atGlance =
    rows.length <= mostAtGlance && rows.every((row) => isShort(row.before) && isShort(row.after))
  if (atGlance) {
    return (
      <ul className="small glance" aria-label="Changes">
        {rows.map((row) => (
          <li key={row.key}>
            <ChangeLine row={row} isWhole={isWhole} />
          </li>
        ))}
      </ul>
    )
  }
  return (
    <details>
      <summary className="small">{counted(rows.length, isWhole ? 'detail' : 'change')}</summary>
      <Diff changes={changes} nameOf={nameOf} />
    </details>
  )
}

function ChangeLine({ row: { label, before, after }, isWhole }: { row: ChangeWords; isWhole: boolean }) {
  if (isWhole) return <>{`${label}: ${after ?? before ?? ''}`}</>
  return (
    <>
      <span className="muted">{label}:</span> {before === null ? 'none' : <del>{before}</del>}
      <span aria-hidden="true"> → </span>
      <span className="hidden-text"> became </span>
      {after === null ? 'none' : <ins>{after}</ins>}
    </>
  )
}

/** Creations and deletions change the whole object, which has no path; they cannot be undone. */
function isUndoable({ outcome, operation, changes }: Entry): boolean {
  const hasFields = changes.length > 0 && changes.every(({ path }) => path !== '')
  return outcome === 'done' && hasFields && operation !== 'undo-change' && !deploys.has(operation)
}

/** Another version is the way back from these: the platform refuses to undo them. */
const deploys = new Set([
  'notify-code-upload',
  'deploy-app-env-image',
  'redeploy-app-env',
  'cancel-deployment',
  'apply-app-env-changes',
  'start-app-env',
  'stop-app-env',
  'restart-app-env',
])
