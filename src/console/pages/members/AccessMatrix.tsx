import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { useKept } from '../../api/drafts.ts'
import { Empty } from '../../components/states.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { counted } from '../../components/words.ts'
import { useAccount } from '../../shell/account.ts'
import {
  type Access,
  accessOf,
  changesOf,
  closesEverything,
  type Draft,
  isOpen,
  type ListedEnvironment,
  type Member,
  toggled,
} from './access-draft.ts'
import { ReviewDialog } from './ReviewDialog.tsx'

interface Props {
  members: readonly Member[]
  environments: readonly ListedEnvironment[]
}

const nothing: [string, Access][] = []

/** Environments by members. Edits stay on the page until they are reviewed and saved. */
export function AccessMatrix({ members, environments }: Props) {
  const { find = '' } = useSearch({ from: '/frame/members' })
  const navigate = useNavigate({ from: '/members' })
  const { accountId } = useAccount()
  const [kept, setKept] = useKept<[string, Access][]>(`access ${accountId}`, nothing)
  const draft: Draft = new Map(kept)
  const [reviewing, setReviewing] = useState(false)
  const changes = changesOf(draft, members, environments)
  const blocked = changes.filter(({ access }) => closesEverything(access))
  const shown = environments.filter(({ cliEnvName }) => cliEnvName.includes(find.trim().toLowerCase()))
  const set = (membershipId: string, access: Access) =>
    setKept((before) => [...new Map(before).set(membershipId, access)])
  return (
    <section className="panel" aria-labelledby="access">
      <header>
        <h2 id="access">Access to environments</h2>
        <input
          type="search"
          aria-label="Find an environment"
          placeholder="Environment"
          value={find}
          onChange={(event) =>
            navigate({
              search: (before) => ({ ...before, find: event.target.value || undefined }),
              replace: true,
            })
          }
        />
        <div className="row actions">
          <span className="muted small" role="status">
            {changes.length > 0 && `${counted(changes.length, 'member')} changed, not saved`}
          </span>
          {changes.length > 0 && (
            <button type="button" className="button" onClick={() => setKept(nothing)}>
              Discard
            </button>
          )}
          <button
            type="button"
            className="button primary"
            disabled={changes.length === 0 || blocked.length > 0}
            onClick={() => setReviewing(true)}
          >
            Review changes
          </button>
        </div>
      </header>
      {blocked.map(({ member }) => (
        <p key={member.membershipId} role="alert" className="note tone-warn">
          {member.name} would have an empty list, which means full access. Leave one environment, or remove
          the member.
        </p>
      ))}
      {environments.length === 0 && <Empty title="No environments yet" />}
      {environments.length > 0 && shown.length === 0 && <Empty title="No environment matches" />}
      {shown.length > 0 && (
        <Matrix members={members} environments={shown} all={environments} draft={draft} set={set} />
      )}
      {reviewing && (
        <ReviewDialog
          changes={changes}
          environments={environments}
          onSaved={(membershipId) => setKept((before) => before.filter(([id]) => id !== membershipId))}
          onClose={() => setReviewing(false)}
        />
      )}
    </section>
  )
}

interface MatrixProps extends Props {
  all: readonly ListedEnvironment[]
  draft: Draft
  set: (membershipId: string, access: Access) => void
}

function Matrix({ members, environments, all, draft, set }: MatrixProps) {
  const column = (member: Member): Column<ListedEnvironment> => {
    const { membershipId, name, email } = member
    const saved = accessOf(member)
    const access = draft.get(membershipId) ?? saved
    const changed = (id: string) => isOpen(access, id) !== isOpen(saved, id)
    return {
      title: membershipId,
      head: (
        <div title={email}>
          {name}
          <FullAccess of={member} access={access} all={all} set={set} />
        </div>
      ),
      kind: ({ appEnvId }) => (changed(appEnvId) ? 'changed' : ''),
      cell: ({ appEnvId, cliEnvName }) => (
        <label>
          <input
            type="checkbox"
            aria-label={`${name} reaches ${cliEnvName}`}
            checked={isOpen(access, appEnvId)}
            onChange={() => set(membershipId, toggled(access, appEnvId, all))}
          />
          {changed(appEnvId) && (
            <span className="small">{isOpen(access, appEnvId) ? 'opens' : 'closes'}</span>
          )}
        </label>
      ),
    }
  }
  return (
    <Table
      label="Matrix of members by environments"
      className="matrix"
      columns={[{ title: 'Environment', cell: ({ cliEnvName }) => cliEnvName }, ...members.map(column)]}
      rows={environments}
      keyOf={({ appEnvId }) => appEnvId}
      rowHeight={37}
      maxHeight={560}
    />
  )
}

interface FullAccessProps extends Pick<MatrixProps, 'all' | 'set'> {
  of: Member
  access: Access
}

function FullAccess({ of: { membershipId, name }, access, all, set }: FullAccessProps) {
  return (
    <label className="small">
      <input
        type="checkbox"
        checked={access.full}
        aria-label={`Full access of ${name}`}
        onChange={({ target }) =>
          set(
            membershipId,
            target.checked ? { full: true } : { full: false, ids: all.map(({ appEnvId }) => appEnvId) },
          )
        }
      />
      full
    </label>
  )
}
