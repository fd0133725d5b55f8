import { Link } from '@tanstack/react-router'
import { Badge } from '../../components/Badge.tsx'
import { Diff } from '../../components/Diff.tsx'
import { Time } from '../../components/Time.tsx'
import { counted } from '../../components/words.ts'
import { actor, type Entry, entryWords, shortId, surfaceNames } from './entries.ts'

interface Props {
  entry: Entry
  /** The cliEnvName, if the object is an environment that the reader can access. */
  envName: string | undefined
  undo: (entry: Entry) => void
}

export function EntryItem({ entry, envName, undo }: Props) {
  const { timestamp, surface, objectType, objectId, outcome, changes } = entry
  return (
    <li className="entry">
      <div className="row">
        <strong>{entryWords(entry)}</strong>
        {outcome === 'refused' && <Badge tone="bad">Refused</Badge>}
        <span className="muted">
          by{' '}
          <Link
            to="/agents/$principalId"
            params={{ principalId: entry.principal.id }}
            search={({ account }) => ({ account, surface })}
          >
            {actor(entry)}
          </Link>{' '}
          · {surfaceNames[surface]}
          <OriginLinks entry={entry} />
        </span>
        <span className="row when">
          <span className="muted small">
            <Time at={timestamp} />
          </span>
          {isUndoable(entry) && (
            <button type="button" className="button compact" onClick={() => undo(entry)}>
              Undo<span className="hidden-text"> {entryWords(entry)}</span>
            </button>
          )}
        </span>
      </div>
      <span className="muted small">
        {envName ? (
          <Link to="/environments/$envName" params={{ envName }} search={({ account }) => ({ account })}>
            {envName}
          </Link>
        ) : (
          <>
            {objectType} <code>{objectId}</code>
          </>
        )}
      </span>
      {changes.length > 0 && (
        <details>
          <summary className="small">{counted(changes.length, 'change')}</summary>
          <Diff changes={changes} />
        </details>
      )}
    </li>
  )
}

/** Creations and deletions change the whole object, which has no path; they cannot be undone. */
function isUndoable({ outcome, operation, changes }: Entry): boolean {
  const hasFields = changes.length > 0 && changes.every(({ path }) => path !== '')
  return outcome === 'done' && hasFields && operation !== 'undo-change'
}

/** To everything else that the same agent session and the same token did. */
function OriginLinks({ entry: { sessionId, tokenId } }: { entry: Entry }) {
  return (
    <>
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
            token {shortId(tokenId)}
          </Link>
        </>
      )}
    </>
  )
}
