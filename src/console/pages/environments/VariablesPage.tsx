import { useState } from 'react'
import { updateAppEnvVariables } from '../../../contract/app-env-actions.ts'
import type { AppEnv } from '../../../contract/app-envs.ts'
import { useKept } from '../../api/drafts.ts'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { Empty } from '../../components/states.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { variableUses } from '../../words/values.ts'
import { useEnvironment } from './environment.ts'
import { VariableDialog } from './VariableDialog.tsx'

type Variable = AppEnv['envVars'][number]

/** One variable is changed at a time; the others keep value, type and secret flag. */
export function VariablesPage() {
  const { envVars, appEnvId } = useEnvironment()
  const [edited, setEdited] = useKept<{ name: string | null } | null>(`open variable ${appEnvId}`, null)
  const [removed, setRemoved] = useState<string | null>(null)
  return (
    <section className="panel" aria-labelledby="variables">
      <header>
        <h2 id="variables">Variables</h2>
        <span className="muted small">Saved as pending until you apply them</span>
        <div className="actions">
          <button type="button" className="button primary" onClick={() => setEdited({ name: null })}>
            Add variable
          </button>
        </div>
      </header>
      {envVars.length === 0 && (
        <Empty title="No variables">Settings and secrets of the program belong here.</Empty>
      )}
      {envVars.length > 0 && (
        <VariableTable variables={envVars} edit={(name) => setEdited({ name })} remove={setRemoved} />
      )}
      {edited && <VariableDialog name={edited.name} onClose={() => setEdited(null)} />}
      {removed !== null && (
        <ConfirmWrite
          row={updateAppEnvVariables}
          input={{ appEnvId, unset: [removed] }}
          title={`Remove ${removed}?`}
          action="Remove"
          danger
          done={({ message }) => message}
          onClose={() => setRemoved(null)}
        />
      )}
    </section>
  )
}

interface TableProps {
  variables: readonly Variable[]
  edit: (name: string) => void
  remove: (name: string) => void
}

const columns: Column<Variable>[] = [
  { title: 'Name', kind: 'mono', cell: ({ name }) => name },
  {
    title: 'Value',
    kind: 'mono',
    cell: ({ isSecret, value, from }) => {
      if (from) return `${from.field} of ${from.envName ?? 'an environment that you cannot see'}`
      return isSecret ? <span className="muted">secret</span> : value
    },
  },
  { title: 'Used for', kind: 'muted', cell: ({ type }) => variableUses[type] },
]

function VariableTable({ variables, edit, remove }: TableProps) {
  return (
    <Table
      label="List of variables"
      columns={columns}
      rows={variables}
      keyOf={({ _id }) => _id}
      actions={({ name }) => (
        <>
          <button type="button" className="button compact" onClick={() => edit(name)}>
            Change<span className="hidden-text"> {name}</span>
          </button>
          <button type="button" className="button quiet compact" onClick={() => remove(name)}>
            Remove<span className="hidden-text"> {name}</span>
          </button>
        </>
      )}
    />
  )
}
