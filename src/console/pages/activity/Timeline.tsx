import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { listAppEnvs } from '../../../contract/app-envs.ts'
import { listAudit, undoChange } from '../../../contract/audit.ts'
import type { OutputOf } from '../../../contract/operation.ts'
import type { AppError } from '../../../errors.ts'
import { client } from '../../api/client.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { Empty, Failed, Loading } from '../../components/states.tsx'
import { EntryItem } from './EntryItem.tsx'
import {
  actors,
  byDay,
  type Entry,
  type Filters,
  objects,
  queryOf,
  surfaceNames,
  withOperation,
} from './entries.ts'

interface Props {
  accountId: string
  /** Only entries of this object. */
  objectId?: string
  /** Filters that the page sets and the reader cannot change. */
  fixed?: Filters
}

/** Pages of the audit log as one list, newest first. */
export function useEntries(accountId: string, filters: Filters = {}) {
  const filter = queryOf(filters)
  return useInfiniteQuery<
    OutputOf<typeof listAudit>,
    AppError,
    Entry[],
    readonly unknown[],
    string | undefined
  >({
    queryKey: [listAudit.id, accountId, filter],
    queryFn: ({ pageParam: cursor, signal }) =>
      client.call(listAudit, { ...filter, accountId, cursor, limit: 100 }, { signal }),
    initialPageParam: undefined,
    getNextPageParam: (page) => page.cursor ?? undefined,
    select: ({ pages }) => pages.flatMap(({ entries }) => entries),
    refetchInterval: everyMs.list,
  })
}

/** The audit log as a timeline: live, filtered by its address, each change with before, after and Undo. */
export function Timeline({ accountId, objectId, fixed = {} }: Props) {
  const always: Filters = { ...fixed, ...(objectId === undefined ? {} : { object: objectId }) }
  const filters: Filters = { ...(useSearch({ strict: false }) as Filters), ...always }
  const [undoing, setUndoing] = useState<Entry | null>(null)
  const read = useEntries(accountId, filters)
  // What the filters offer does not shrink with what they let through.
  const offered = useEntries(accountId, always)
  const environments = useRead(listAppEnvs, { accountId }, { everyMs: 30_000 })
  const names = new Map(environments.data?.appEnvs.map((one) => [one.appEnvId, one.cliEnvName]))
  if (read.error && !read.data) return <Failed error={read.error} retry={() => read.refetch()} />
  const all = offered.data ?? []
  const shown = withOperation(read.data ?? [], filters.operation)
  return (
    <section className="panel" aria-label="Activity">
      <TimelineFilters
        entries={all}
        filters={filters}
        fixed={fixed}
        environments={objectId === undefined ? names : null}
      />
      {read.isPending && <Loading rows={6} />}
      {read.data && shown.length === 0 && (
        <Empty title={all.length === 0 ? 'No entries yet' : 'No entry matches'}>
          {all.length > 0 && 'Change the filters.'}
        </Empty>
      )}
      {byDay(shown).map(({ day, entries }) => (
        <section key={day} aria-label={day}>
          <h2 className="day">{day}</h2>
          <ol>
            {entries.map((entry) => (
              <EntryItem
                key={entry.entryId}
                entry={entry}
                envName={names.get(entry.objectId)}
                undo={setUndoing}
              />
            ))}
          </ol>
        </section>
      ))}
      {read.hasNextPage && (
        <div className="body">
          <button
            type="button"
            className="button"
            disabled={read.isFetchingNextPage}
            onClick={() => read.fetchNextPage()}
          >
            {read.isFetchingNextPage ? 'Loading…' : 'Load older entries'}
          </button>
        </div>
      )}
      {undoing && (
        <ConfirmWrite
          row={undoChange}
          input={{ entryId: undoing.entryId }}
          title="Undo this change?"
          action="Undo"
          done={({ message }) => message}
          onClose={() => setUndoing(null)}
        />
      )}
    </section>
  )
}

interface FiltersProps {
  /** Names by id; null where the timeline is of one object. */
  environments: ReadonlyMap<string, string> | null
  entries: readonly Entry[]
  filters: Filters
  fixed: Filters
}

function TimelineFilters({ entries, filters, fixed, environments }: FiltersProps) {
  const navigate = useNavigate()
  const set = (change: Filters) =>
    navigate({ to: '.', search: (before: object) => ({ ...before, ...change }), replace: true })
  return (
    <header>
      {fixed.who === undefined && fixed.session === undefined && fixed.token === undefined && (
        <Choice label="Who" every="Everyone" value={filters.who} set={(who) => set({ who })}>
          {actors(entries).map(({ id, name }) => [id, name])}
        </Choice>
      )}
      {fixed.surface === undefined && fixed.session === undefined && (
        <Choice
          label="From where"
          every="Every surface"
          value={filters.surface}
          set={(surface) => set({ surface: surface as Filters['surface'] })}
        >
          {Object.entries(surfaceNames)}
        </Choice>
      )}
      {environments && (
        <Choice label="Object" every="Every object" value={filters.object} set={(object) => set({ object })}>
          {objects(entries, environments).map(({ id, name }) => [id, name])}
        </Choice>
      )}
      <Choice
        label="Result"
        every="Done and refused"
        value={filters.outcome}
        set={(outcome) => set({ outcome: outcome as Filters['outcome'] })}
      >
        {[
          ['done', 'Done'],
          ['refused', 'Refused'],
        ]}
      </Choice>
      <input
        type="search"
        aria-label="Operation"
        placeholder="Operation"
        value={filters.operation ?? ''}
        onChange={(event) => set({ operation: event.target.value || undefined })}
      />
    </header>
  )
}

interface ChoiceProps {
  label: string
  every: string
  value: string | undefined
  set: (value: string | undefined) => void
  children: string[][]
}

function Choice({ label, every, value, set, children }: ChoiceProps) {
  const unlisted = value !== undefined && !children.some(([id]) => id === value)
  return (
    <select aria-label={label} value={value ?? ''} onChange={(event) => set(event.target.value || undefined)}>
      <option value="">{every}</option>
      {unlisted && <option value={value}>{value}</option>}
      {children.map(([id, name]) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  )
}
