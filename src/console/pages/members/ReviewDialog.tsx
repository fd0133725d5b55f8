import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { updateMemberEnvAccess } from '../../../contract/members.ts'
import type { AppError } from '../../../errors.ts'
import { client, preview } from '../../api/client.ts'
import { Conflict } from '../../components/Conflict.tsx'
import { Dialog } from '../../components/Dialog.tsx'
import { Problem } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { counted, whole } from '../../components/words.ts'
import { useAccount } from '../../shell/account.ts'
import { type Access, type AccessChange, accessOf, type ListedEnvironment, opened } from './access-draft.ts'

interface Props {
  changes: readonly AccessChange[]
  environments: readonly ListedEnvironment[]
  /** The member is saved, or the person accepted another person's version. */
  onSaved: (membershipId: string) => void
  onClose: () => void
}

/** Shows the effects of the edits for each member, from the platform's dry run; then saves each member. */
export function ReviewDialog({ changes, environments, onSaved, onClose }: Props) {
  // The revisions that the person saw, so that a concurrent change becomes a conflict.
  const [seen] = useState(() => new Map(changes.map(({ member }) => [member.membershipId, member.revision])))
  const { save, failures, forget } = useSaveAccess(onSaved, onClose)
  const saveAll = () =>
    save.mutate(
      changes.map((change) => ({
        change,
        revision: seen.get(change.member.membershipId) ?? change.member.revision,
      })),
    )
  return (
    <Dialog
      title="Change access?"
      onClose={onClose}
      onSubmit={saveAll}
      actions={
        <button
          type="submit"
          className="button primary"
          disabled={save.isPending || changes.length === 0 || failures.size > 0}
        >
          {save.isPending ? 'Saving…' : `Save for ${counted(changes.length, 'member')}`}
        </button>
      }
    >
      {changes.map((change) => (
        <OneChange
          key={change.member.membershipId}
          change={change}
          environments={environments}
          pending={save.isPending}
          failure={failures.get(change.member.membershipId) ?? null}
          saveMine={() => save.mutate([{ change, revision: change.member.revision }])}
          takeTheirs={() => {
            forget(change.member.membershipId)
            onSaved(change.member.membershipId)
          }}
        />
      ))}
      {changes.length === 0 && <p>All changes are saved.</p>}
    </Dialog>
  )
}

/** Saves member by member; failed ones stay in the dialog with their error. */
function useSaveAccess(onSaved: (membershipId: string) => void, onClose: () => void) {
  const { accountId } = useAccount()
  const queries = useQueryClient()
  const [failures, setFailures] = useState<ReadonlyMap<string, AppError>>(new Map())
  const save = useMutation<void, AppError, { change: AccessChange; revision: number }[]>({
    async mutationFn(writes) {
      const failed = new Map(failures)
      for (const { change, revision } of writes) {
        const { membershipId } = change.member
        try {
          const input = { ...inputOf(accountId, change), expectedRevision: revision }
          await client.call(updateMemberEnvAccess, input)
          failed.delete(membershipId)
          onSaved(membershipId)
        } catch (error) {
          failed.set(membershipId, error as AppError)
        }
      }
      setFailures(failed)
      if (failed.size > 0) return
      toast(`Access of ${counted(writes.length, 'member')} saved.`)
      onClose()
    },
    // Pending until then: another try sends the revision that is stored now.
    onSettled: () => queries.invalidateQueries(),
  })
  const forget = (membershipId: string) =>
    setFailures(new Map([...failures].filter(([id]) => id !== membershipId)))
  return { save, failures, forget }
}

const inputOf = (accountId: string, { member, access }: AccessChange) => ({
  accountId,
  membershipId: member.membershipId,
  allowedAppEnvIds: access.full ? [] : [...access.ids],
})

interface OneProps {
  change: AccessChange
  environments: readonly ListedEnvironment[]
  pending: boolean
  failure: AppError | null
  saveMine: () => void
  takeTheirs: () => void
}

function OneChange({ change, environments, pending, failure, saveMine, takeTheirs }: OneProps) {
  const { accountId } = useAccount()
  const { member, access, opens, closes } = change
  const input = inputOf(accountId, change)
  const dryRun = useQuery<Awaited<ReturnType<typeof preview>>, AppError>({
    queryKey: ['preview', updateMemberEnvAccess.id, input],
    queryFn: () => preview(updateMemberEnvAccess, input),
    gcTime: 0,
  })
  const stored = accessOf(member)
  const words = (one: Access, other: Access) =>
    one.full ? 'Full' : namesOf(opened(one, other, environments))
  return (
    <section aria-label={member.name} className="stack" style={{ gap: 6 }}>
      <h3>{member.name}</h3>
      <dl className="opens">
        <dt>Opens</dt>
        <dd>{namesOf(opens)}</dd>
        <dt>Closes</dt>
        <dd>{namesOf(closes)}</dd>
      </dl>
      {dryRun.data?.effects.map((effect) => (
        <span key={effect} className="muted small">
          {effect}
        </span>
      ))}
      <Problem error={dryRun.error} />
      {failure?.kind === 'conflict' ? (
        <Conflict
          fields={[
            {
              label: 'Access',
              mine: words(access, stored),
              theirs: words(stored, access),
            },
          ]}
          pending={pending}
          saveMine={saveMine}
          takeTheirs={takeTheirs}
        />
      ) : (
        <Problem error={failure} />
      )}
    </section>
  )
}

function namesOf(environments: readonly ListedEnvironment[]): string {
  if (environments.length === 0) return 'nothing'
  const names = environments.slice(0, 12).map(({ cliEnvName }) => cliEnvName)
  const more = environments.length - names.length
  return names.join(', ') + (more > 0 ? ` and ${whole(more)} more` : '')
}
