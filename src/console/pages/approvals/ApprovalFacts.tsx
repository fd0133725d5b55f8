import { Link } from '@tanstack/react-router'
import type { Approval } from '../../../contract/approvals.ts'
import { Badge } from '../../components/Badge.tsx'
import { Fact } from '../../components/Fact.tsx'
import { Time } from '../../components/Time.tsx'
import { TimeLeft } from '../../components/TimeLeft.tsx'
import { approvalStatusWords, approversWords, callerKindNames, totalImpact } from '../../words/approvals.ts'
import { operationWords } from '../../words/operations.ts'
import type { NameOf } from '../../words/values.ts'
import { agentName } from '../activity/entries.ts'
import { ImpactPicture } from './ImpactPicture.tsx'

export function ApprovalBadge({ status }: Pick<Approval, 'status'>) {
  const { tone, name } = approvalStatusWords[status]
  return <Badge tone={tone}>{name}</Badge>
}

/** "Claude Code for Ada", or only the person. */
export function requesterWords({ name, agent, kind }: Approval['requestedBy']): string {
  const who = name ?? callerKindNames[kind]
  return agent === null ? who : `${agentName(agent)} for ${who}`
}

/** Held writes are named by their operation and object, which have words; the titles of plans are a person's or agent's. */
export function titleWords(
  { title, operations: [operation = ''] }: { title: string; operations: readonly string[] },
  nameOf: NameOf,
): string {
  if (title !== operation && !title.startsWith(`${operation} `)) return title
  const object = title.slice(operation.length + 1)
  const isId = /^[a-z]{2,4}_[a-z0-9]{16,}$/.test(object)
  return `${operationWords(operation)} ${nameOf(object) ?? (isId ? '' : object)}`.trim()
}

interface Props {
  approval: Approval
  nameOf: NameOf
  /** Readers of the audit log open the page of the requester. */
  isAdmin: boolean
}

/** Who asks for it and why, what it does in a picture, and who has to decide until when. */
export function ApprovalFacts({ approval, nameOf, isAdmin }: Props) {
  const { requestedBy, reason, approvers, createdAt, expiresAt, status, ruleId, steps } = approval
  const { userId, kind } = requestedBy
  return (
    <section className="panel" aria-label="Request">
      <div className="body stack">
        {reason !== null && <p className="quoted">{reason}</p>}
        <ImpactPicture impact={totalImpact(steps.map(({ impact }) => impact))} nameOf={nameOf} />
        <dl className="facts">
          <Fact
            label="Requested by"
            value={
              isAdmin && userId !== null ? (
                <Link
                  to="/agents/$principalId"
                  params={{ principalId: userId }}
                  search={({ account }) => ({ account, agent: requestedBy.agent ?? undefined })}
                >
                  {requesterWords(requestedBy)}
                </Link>
              ) : (
                requesterWords(requestedBy)
              )
            }
            note={callerKindNames[kind]}
          />
          <Fact label="Requested" value={<Time at={createdAt} />} />
          <Fact label="Needs" value={approversWords(approvers)} />
          {ruleId !== null && <Fact label="Rule that asks" value={<code>{ruleId}</code>} />}
          {status === 'pending' && <Fact label="Expires in" value={<TimeLeft at={expiresAt} />} />}
        </dl>
      </div>
      {approval.decisions.length > 0 && <Decisions decisions={approval.decisions} />}
    </section>
  )
}

function Decisions({ decisions }: Pick<Approval, 'decisions'>) {
  return (
    <ul aria-label="Decisions so far">
      {decisions.map(({ userId, name, decision, at, comment }) => (
        <li key={`${userId} ${at}`} className="entry">
          <div className="row">
            <Badge tone={decision === 'approve' ? 'ok' : 'bad'}>
              {decision === 'approve' ? 'Approved' : 'Denied'}
            </Badge>
            <span>
              by {name ?? 'a person who left'} · <Time at={at} />
            </span>
          </div>
          {comment !== null && <p className="quoted">{comment}</p>}
        </li>
      ))}
    </ul>
  )
}
