import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { listAudit } from '../../../contract/audit.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Badge } from '../../components/Badge.tsx'
import { Failed, Loading } from '../../components/states.tsx'
import { Time } from '../../components/Time.tsx'
import { useAccount } from '../../shell/account.ts'
import { callerWords, entryWords, shortId } from '../activity/entries.ts'

/** Live list of agents' writes over MCP. */
export function AgentWatch() {
  const { accountId } = useAccount()
  const read = useRead(listAudit, { accountId, surface: 'mcp', limit: 8 }, { everyMs: everyMs.live })
  const calls = read.data?.entries ?? []
  // The clocks of browser and platform may differ, so entries count as old if the first answer has them.
  const newest = read.data && (calls[0]?.entryId ?? null)
  const [known, setKnown] = useState(newest)
  if (known === undefined && newest !== undefined) setKnown(newest)
  const isNew = known !== undefined && newest !== known
  return (
    <section className="panel" aria-labelledby="watch">
      <header>
        <h2 id="watch">3. Watch the agent</h2>
      </header>
      <div className="body stack">
        {!read.data && (read.error ? <Failed error={read.error} /> : <Loading rows={2} />)}
        {read.data && (
          <div role="status" className="row">
            {isNew ? (
              <>
                <Badge tone="ok">Connected</Badge> An agent has made a call since you opened this page.
              </>
            ) : (
              <>
                <Badge tone="busy">Waiting</Badge> Ask the agent, for example: “Set the variable COLOR of my
                function to green.”
              </>
            )}
          </div>
        )}
        {calls.length > 0 && (
          <ol className="steps" aria-label="Calls of agents, newest first">
            {calls.map((entry) => (
              <li key={entry.entryId}>
                <strong>{entryWords(entry)}</strong>
                {entry.outcome === 'refused' && <Badge tone="bad">Refused</Badge>}
                <span className="muted small">
                  by{' '}
                  <Link
                    to="/agents/$principalId"
                    params={{ principalId: entry.principal.id }}
                    search={({ account }) => ({ account, surface: 'mcp' })}
                  >
                    {callerWords(entry)}
                  </Link>
                  {entry.sessionId && (
                    <>
                      {' · '}
                      <Link
                        to="/sessions/$sessionId"
                        params={{ sessionId: entry.sessionId }}
                        search={({ account }) => ({ account })}
                      >
                        session {shortId(entry.sessionId)}
                      </Link>
                    </>
                  )}
                  , <Time at={entry.timestamp} />
                </span>
              </li>
            ))}
          </ol>
        )}
        <p className="muted small">Changes and rejected calls appear here. Reads are not in the audit log.</p>
      </div>
    </section>
  )
}
