import { useInfiniteQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { listAudit, undoChange } from '../../../contract/audit.ts'
import type { OutputOf } from '../../../contract/operation.ts'
import type { AppError } from '../../../errors.ts'
import { client } from '../../api/client.ts'
import { everyMs } from '../../api/queries.ts'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { Empty, Failed, Loading } from '../../components/states.tsx'
import { EntryItem } from './EntryItem.tsx'
import { byDay, type Entry, entryWords, type Filters, queryOf, withOperation } from './entries.ts'
import { TimelineFilters } from './TimelineFilters.tsx'
import { useNames } from './use-names.ts'

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

/** Ids of the entries that were undone, by any user: a person undoes changes of an agent. */
function useUndone(accountId: string, about: Filters, known: readonly (readonly Entry[] | undefined)[]) {
  const everyone = useEntries(accountId, about)
  return new Set(
    [everyone.data, ...known].flatMap((entries = []) => entries.map(({ undid }) => undid?.entryId)),
  )
}

/** The audit log as a timeline: live, filtered by its address, each change with before, after and Undo. */
export function Timeline({ accountId, objectId, fixed = {} }: Props) {
  const about: Filters = objectId === undefined ? {} : { object: objectId }
  const always: Filters = { ...fixed, ...about }
  const filters: Filters = { ...(useSearch({ strict: false }) as Filters), ...always }
  const [undoing, setUndoing] = useState<Entry | null>(null)
  const read = useEntries(accountId, filters)
  // The options of the filters come from all entries, so they do not shrink when a filter is set.
  const offered = useEntries(accountId, always)
  const undone = useUndone(accountId, about, [offered.data, read.data])
  const { names, nameOf } = useNames(accountId)
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
        nameOf={nameOf}
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
                nameOf={nameOf}
                isUndone={undone.has(entry.entryId)}
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
          title={`Undo “${entryWords(undoing)}”?`}
          action="Undo"
          done={({ message }) => message}
          onClose={() => setUndoing(null)}
        />
      )}
    </section>
  )
}
