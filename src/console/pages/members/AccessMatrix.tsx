import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { useKept } from '../../api/drafts.ts'
import { ScrollArea } from '../../components/ScrollArea.tsx'
import { Empty } from '../../components/states.tsx'
import { counted } from '../../components/words.ts'
import { useAccount } from '../../shell/account.ts'
import { useWindow } from '../overview/use-window.ts'
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
          {member.name} would have an empty list, which means full access (M5). Leave one environment, or
          remove the member.
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

const rowHeight = 37

function Matrix({ members, environments, all, draft, set }: MatrixProps) {
  const { place, first, last } = useWindow(environments.length, rowHeight)
  const columns = members.map((member) => ({
    member,
    saved: accessOf(member),
    access: draft.get(member.membershipId) ?? accessOf(member),
  }))
  return (
    <ScrollArea label="Matrix of members by environments" place={place} style={{ maxHeight: 560 }}>
      <table className="matrix" aria-rowcount={environments.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            <th scope="col">Environment</th>
            {columns.map(({ member, access }) => (
              <th scope="col" key={member.membershipId} title={member.email}>
                {member.name}
                <label className="small">
                  <input
                    type="checkbox"
                    checked={access.full}
                    aria-label={`Full access of ${member.name}`}
                    onChange={(event) =>
                      set(
                        member.membershipId,
                        event.target.checked
                          ? { full: true }
                          : { full: false, ids: all.map(({ appEnvId }) => appEnvId) },
                      )
                    }
                  />
                  full
                </label>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <Spacer rows={first} columns={columns.length + 1} />
          {environments.slice(first, last).map(({ appEnvId, cliEnvName }, index) => (
            <tr key={appEnvId} aria-rowindex={first + index + 2} style={{ height: rowHeight }}>
              <th scope="row">{cliEnvName}</th>
              {columns.map(({ member, saved, access }) => (
                <Cell
                  key={member.membershipId}
                  label={`${member.name} reaches ${cliEnvName}`}
                  open={isOpen(access, appEnvId)}
                  changed={isOpen(access, appEnvId) !== isOpen(saved, appEnvId)}
                  toggle={() => set(member.membershipId, toggled(access, appEnvId, all))}
                />
              ))}
            </tr>
          ))}
          <Spacer rows={environments.length - last} columns={columns.length + 1} />
        </tbody>
      </table>
    </ScrollArea>
  )
}

function Spacer({ rows, columns }: { rows: number; columns: number }) {
  if (rows <= 0) return null
  return (
    <tr>
      <td colSpan={columns} style={{ height: rows * rowHeight, padding: 0, border: 0 }} />
    </tr>
  )
}

interface CellProps {
  label: string
  open: boolean
  changed: boolean
  toggle: () => void
}

function Cell({ label, open, changed, toggle }: CellProps) {
  return (
    <td className={changed ? 'changed' : ''}>
      <label>
        <input type="checkbox" aria-label={label} checked={open} onChange={toggle} />
        {changed && <span className="small">{open ? 'opens' : 'closes'}</span>}
      </label>
    </td>
  )
}
