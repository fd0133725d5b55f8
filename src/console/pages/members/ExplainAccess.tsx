import { useNavigate, useSearch } from '@tanstack/react-router'
import { explainAccess } from '../../../contract/audit.ts'
import type { OutputOf } from '../../../contract/operation.ts'
import { useRead } from '../../api/queries.ts'
import { Badge } from '../../components/Badge.tsx'
import { Failed, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { asSentence, inWords } from '../../words/text.ts'
import type { ListedEnvironment } from './access-draft.ts'

/** Permissions of members on one environment, with the rules. */
export function ExplainAccess({ environments }: { environments: readonly ListedEnvironment[] }) {
  const { explain } = useSearch({ from: '/frame/members' })
  const navigate = useNavigate({ from: '/members' })
  const chosen = environments.find(({ cliEnvName }) => cliEnvName === explain)
  return (
    <section className="panel" aria-labelledby="explain">
      <header>
        <h2 id="explain">Explain access</h2>
        <select
          aria-label="Environment to explain"
          value={chosen?.cliEnvName ?? ''}
          onChange={(event) =>
            navigate({
              search: (before) => ({ ...before, explain: event.target.value || undefined }),
              replace: true,
            })
          }
        >
          <option value="">Choose an environment</option>
          {environments.map(({ appEnvId, cliEnvName }) => (
            <option key={appEnvId} value={cliEnvName}>
              {cliEnvName}
            </option>
          ))}
        </select>
      </header>
      {chosen ? (
        <Explained appEnvId={chosen.appEnvId} />
      ) : (
        <p className="body muted">Choose an environment to see who can do what on it, and why.</p>
      )}
    </section>
  )
}

const yesOrNo = (yes: boolean) => <Badge tone={yes ? 'ok' : 'idle'}>{yes ? 'Yes' : 'No'}</Badge>

const columns: Column<OutputOf<typeof explainAccess>['members'][number]>[] = [
  { title: 'Member', cell: ({ name }) => name },
  { title: 'Operates', cell: ({ operates }) => yesOrNo(operates) },
  { title: 'Sees secrets', cell: ({ seesSecrets }) => yesOrNo(seesSecrets) },
  { title: 'Changes alerts', cell: ({ changesAlerts }) => yesOrNo(changesAlerts) },
  { title: 'Configures access', cell: ({ configuresAccess }) => yesOrNo(configuresAccess) },
  {
    title: 'Because',
    kind: 'small',
    cell: ({ because }) => (
      <ul>
        {because.map((reason) => (
          <li key={reason}>{asSentence(inWords(reason))}</li>
        ))}
      </ul>
    ),
  },
]

function Explained({ appEnvId }: { appEnvId: string }) {
  const read = useRead(explainAccess, { appEnvId }, { everyMs: 5_000 })
  if (read.error && !read.data) return <Failed error={read.error} />
  if (!read.data) return <Loading rows={2} />
  return (
    <Table
      label="Explanation of access"
      columns={columns}
      rows={read.data.members}
      keyOf={({ membershipId }) => membershipId}
    />
  )
}
