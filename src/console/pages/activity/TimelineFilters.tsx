import { useNavigate } from '@tanstack/react-router'
import { actors, agents, type Entry, type Filters, objects, surfaceNames, tokens } from './entries.ts'

interface FiltersProps {
  /** Names by id; null where the timeline is of one object. */
  environments: ReadonlyMap<string, string> | null
  entries: readonly Entry[]
  filters: Filters
  fixed: Filters
  nameOf: (id: string) => string | undefined
}

type Select = (change: Filters) => void

/** Filters of the entries, kept in the address; a filter that the page sets is not offered. */
export function TimelineFilters({ entries, filters, fixed, environments, nameOf }: FiltersProps) {
  const navigate = useNavigate()
  const set: Select = (change) =>
    navigate({ to: '.', search: (before: object) => ({ ...before, ...change }), replace: true })
  return (
    <header>
      <CallerFilters entries={entries} filters={filters} fixed={fixed} nameOf={nameOf} set={set} />
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

type CallerProps = Pick<FiltersProps, 'entries' | 'filters' | 'fixed' | 'nameOf'> & { set: Select }

function CallerFilters({ entries, filters, fixed, nameOf, set }: CallerProps) {
  const isOneSession = fixed.session !== undefined
  return (
    <>
      {fixed.who === undefined && !isOneSession && fixed.token === undefined && (
        <Choice label="Who" every="Everyone" value={filters.who} set={(who) => set({ who })}>
          {actors(entries).map(({ id, name }) => [id, name])}
        </Choice>
      )}
      {fixed.agent === undefined && !isOneSession && (
        <Choice label="Agent" every="Every agent" value={filters.agent} set={(agent) => set({ agent })}>
          {agents(entries)}
        </Choice>
      )}
      {fixed.token === undefined && (
        <Choice label="Token" every="Every token" value={filters.token} set={(token) => set({ token })}>
          {tokens(entries, nameOf)}
        </Choice>
      )}
      {fixed.surface === undefined && !isOneSession && (
        <Choice
          label="From where"
          every="Every surface"
          value={filters.surface}
          set={(surface) => set({ surface: surface as Filters['surface'] })}
        >
          {Object.entries(surfaceNames)}
        </Choice>
      )}
    </>
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
