import { useState } from 'react'
import {
  type Budget,
  type Freeze,
  type PolicyContent,
  type Rule,
  updatePolicy,
} from '../../../contract/policy.ts'
import { Badge } from '../../components/Badge.tsx'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { Empty } from '../../components/states.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { useAccount } from '../../shell/account.ts'
import { budgetWords, effectWords, freezeWords, partNames, scopeWords } from '../../words/policy.ts'
import { BudgetBars, type BudgetUse } from './BudgetBars.tsx'
import { EntryDialog } from './EntryDialog.tsx'
import type { Part, PolicyEntry } from './fields.ts'

interface Props {
  content: PolicyContent
  revision: number
  usage: readonly BudgetUse[] | null
  /** What the platform sets cannot be changed here. */
  isGiven?: boolean
}

/** Rules, freezes and budgets as tables, with a form for each. */
export function PolicyTables({ content, revision, usage, isGiven = false }: Props) {
  const parts = (['rules', 'freezes', 'budgets'] as const).filter(
    (part) => !isGiven || content[part].length > 0,
  )
  return parts.map((part) => (
    <PolicyPart
      key={part}
      part={part}
      entries={content[part] as unknown as PolicyEntry[]}
      revision={revision}
      isGiven={isGiven}
    >
      {part === 'budgets' && usage && usage.length > 0 && <BudgetBars usage={usage} />}
    </PolicyPart>
  ))
}

interface PartProps {
  part: Part
  entries: readonly PolicyEntry[]
  revision: number
  isGiven: boolean
  children: React.ReactNode
}

function PolicyPart({ part, entries, revision, isGiven, children }: PartProps) {
  const { permissions } = useAccount()
  /** An index, or `new`. */
  const [editing, setEditing] = useState<number | 'new' | null>(null)
  const [removing, setRemoving] = useState<PolicyEntry | null>(null)
  const { many, add } = partNames[part]
  const title = isGiven ? `${many} of the platform` : many
  const isEditable = permissions.admin && !isGiven
  return (
    <section className="panel" aria-label={title}>
      <header>
        <h2>{title}</h2>
        {isEditable && (
          <div className="actions">
            <button type="button" className="button" onClick={() => setEditing('new')}>
              {add}
            </button>
          </div>
        )}
      </header>
      {entries.length === 0 && <Empty title={`No ${many.toLowerCase()}`} />}
      {entries.length > 0 && (
        <Table
          label={`List: ${title}`}
          columns={columnsOf[part]}
          rows={entries}
          keyOf={({ id }) => id}
          actions={
            isEditable
              ? (entry) => (
                  <>
                    <button
                      type="button"
                      className="button compact"
                      onClick={() => setEditing(entries.indexOf(entry))}
                    >
                      Edit<span className="hidden-text"> {entry.id}</span>
                    </button>
                    <button type="button" className="button compact" onClick={() => setRemoving(entry)}>
                      Remove<span className="hidden-text"> {entry.id}</span>
                    </button>
                  </>
                )
              : undefined
          }
        />
      )}
      {children}
      {editing !== null && (
        <EntryDialog
          part={part}
          entries={entries}
          index={editing === 'new' ? null : editing}
          revision={revision}
          onClose={() => setEditing(null)}
        />
      )}
      {removing && (
        <RemoveEntry
          part={part}
          entries={entries}
          removed={removing}
          revision={revision}
          onClose={() => setRemoving(null)}
        />
      )}
    </section>
  )
}

interface RemoveProps extends Pick<PartProps, 'part' | 'entries' | 'revision'> {
  removed: PolicyEntry
  onClose: () => void
}

function RemoveEntry({ part, entries, removed, revision, onClose }: RemoveProps) {
  const { accountId } = useAccount()
  const left = entries.filter((entry) => entry !== removed)
  return (
    <ConfirmWrite
      row={updatePolicy}
      input={{ accountId, [part]: left, expectedRevision: revision } as never}
      title={`Remove ${partNames[part].one.toLowerCase()} ${removed.id}?`}
      action="Remove"
      danger
      changes={false}
      done={({ message }) => message}
      onClose={onClose}
    />
  )
}

const name: Column<PolicyEntry> = { title: 'Name', kind: 'mono', cell: ({ id }) => id }
const about: Column<PolicyEntry> = {
  title: 'Message',
  kind: 'muted',
  cell: ({ message }) => (message as string | undefined) ?? '',
}
const scope: Column<PolicyEntry> = {
  title: 'Applies to',
  cell: (entry) => scopeWords(entry as Partial<Rule>),
}
const effect = (of: (entry: PolicyEntry) => keyof typeof effectWords): Column<PolicyEntry> => ({
  title: 'Effect',
  cell: (entry) => <Badge tone={effectWords[of(entry)].tone}>{effectWords[of(entry)].name}</Badge>,
})

const columnsOf: Record<Part, Column<PolicyEntry>[]> = {
  rules: [name, effect((entry) => (entry as unknown as Rule).effect), scope, about],
  freezes: [
    name,
    effect(() => 'deny'),
    { title: 'When', cell: (entry) => freezeWords(entry as unknown as Freeze) },
    scope,
    about,
  ],
  budgets: [
    name,
    effect((entry) => (entry as unknown as Budget).onHard),
    { title: 'Above', cell: (entry) => budgetWords(entry as unknown as Budget) },
  ],
}
