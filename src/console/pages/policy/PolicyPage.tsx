import { useState } from 'react'
import type { OutputOf } from '../../../contract/operation.ts'
import { getPolicy, type PolicyContent, startingPolicies, updatePolicy } from '../../../contract/policy.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Badge } from '../../components/Badge.tsx'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { PageTitle } from '../../components/PageTitle.tsx'
import { Failed, Loading } from '../../components/states.tsx'
import { useAccount } from '../../shell/account.ts'
import { modeWords, startingWords } from '../../words/policy.ts'
import { useNames } from '../activity/use-names.ts'
import { PolicyTables } from './PolicyTables.tsx'
import { PolicyText } from './PolicyText.tsx'
import { Replay } from './Replay.tsx'

type Policy = OutputOf<typeof getPolicy>

/** What agents and others may do: the rules, what they would have stopped, and the switch that puts them in force. */
export function PolicyPage() {
  const { accountId, permissions } = useAccount()
  const input = { accountId, withUsage: permissions.admin }
  const read = useRead(getPolicy, input, { everyMs: everyMs.chart })
  const [tried, setTried] = useState<PolicyContent | null>(null)
  const { nameOf } = useNames(accountId)
  if (read.error && !read.data) return <Failed error={read.error} retry={() => read.refetch()} />
  if (!read.data) return <Loading rows={8} />
  const { mode, rules, freezes, budgets, revision, platform, usage } = read.data
  const content = { mode, rules, freezes, budgets } as PolicyContent
  return (
    <>
      <Head policy={read.data} />
      <div className="stack" key={accountId}>
        {permissions.admin && <Replay accountId={accountId} tried={tried} nameOf={nameOf} />}
        <PolicyTables content={content} revision={revision} usage={usage} />
        {platform && (
          <PolicyTables content={platform as PolicyContent} revision={revision} usage={null} isGiven />
        )}
        {permissions.admin && (
          <>
            <PolicyText content={content} revision={revision} onTry={setTried} />
            <Starting revision={revision} />
          </>
        )}
      </div>
    </>
  )
}

function Head({ policy: { mode, revision } }: { policy: Policy }) {
  const { accountId, permissions } = useAccount()
  const [switching, setSwitching] = useState(false)
  const { tone, name, about } = modeWords[mode]
  const other = mode === 'observe' ? 'enforce' : 'observe'
  const label = mode === 'observe' ? 'Put in force' : 'Only observe'
  return (
    <div className="page-head">
      <PageTitle>Policy</PageTitle>
      <Badge tone={tone}>{name}</Badge>
      <span className="muted">{about}</span>
      {permissions.admin && (
        <div className="actions">
          <button
            type="button"
            className={`button ${mode === 'observe' ? 'primary' : ''}`}
            onClick={() => setSwitching(true)}
          >
            {label}
          </button>
        </div>
      )}
      {switching && (
        <ConfirmWrite
          row={updatePolicy}
          input={{ accountId, mode: other, expectedRevision: revision }}
          title={`${label}?`}
          action={label}
          changes={false}
          done={({ message }) => message}
          onClose={() => setSwitching(false)}
        />
      )}
    </div>
  )
}

function Starting({ revision }: { revision: number }) {
  const { accountId } = useAccount()
  const [start, setStart] = useState<(typeof startingPolicies)[number] | null>(null)
  return (
    <section className="panel" aria-label="Starting policies">
      <header>
        <h2>Starting policies</h2>
        <span className="muted small">One of these replaces the policy of the account</span>
      </header>
      <ul>
        {startingPolicies.map((one) => (
          <li key={one} className="entry">
            <div className="row">
              <strong>{startingWords[one].name}</strong>
              <span className="muted">{startingWords[one].about}</span>
              <span className="row when">
                <button type="button" className="button compact" onClick={() => setStart(one)}>
                  Use<span className="hidden-text"> {startingWords[one].name}</span>
                </button>
              </span>
            </div>
          </li>
        ))}
      </ul>
      {start && (
        <ConfirmWrite
          row={updatePolicy}
          input={{ accountId, start, expectedRevision: revision }}
          title={`Replace the policy by “${startingWords[start].name}”?`}
          action="Replace policy"
          danger
          changes={false}
          done={({ message }) => message}
          onClose={() => setStart(null)}
        />
      )}
    </section>
  )
}
