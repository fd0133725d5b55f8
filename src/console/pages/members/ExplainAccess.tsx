import { useNavigate, useSearch } from '@tanstack/react-router'
import { explainAccess } from '../../../contract/audit.ts'
import { useRead } from '../../api/queries.ts'
import { Badge } from '../../components/Badge.tsx'
import { ScrollArea } from '../../components/ScrollArea.tsx'
import { Failed, Loading } from '../../components/states.tsx'
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
        <p className="body muted">Choose an environment to see who can do what on it, and by which rule.</p>
      )}
    </section>
  )
}

const yesOrNo = (yes: boolean) => <Badge tone={yes ? 'ok' : 'idle'}>{yes ? 'Yes' : 'No'}</Badge>

function Explained({ appEnvId }: { appEnvId: string }) {
  const read = useRead(explainAccess, { appEnvId }, { everyMs: 5_000 })
  if (read.error && !read.data) return <Failed error={read.error} />
  if (!read.data) return <Loading rows={2} />
  return (
    <ScrollArea label="Explanation of access">
      <table>
        <thead>
          <tr>
            <th scope="col">Member</th>
            <th scope="col">Operates</th>
            <th scope="col">Sees secrets</th>
            <th scope="col">Changes alerts</th>
            <th scope="col">Configures access</th>
            <th scope="col">Because</th>
          </tr>
        </thead>
        <tbody>
          {read.data.members.map((member) => (
            <tr key={member.membershipId}>
              <th scope="row">{member.name}</th>
              <td>{yesOrNo(member.operates)}</td>
              <td>{yesOrNo(member.seesSecrets)}</td>
              <td>{yesOrNo(member.changesAlerts)}</td>
              <td>{yesOrNo(member.configuresAccess)}</td>
              <td className="small">
                <ul>
                  {member.because.map((reason) => (
                    <li key={reason}>{reason}</li>
                  ))}
                </ul>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollArea>
  )
}
