import { useMutation } from '@tanstack/react-query'
import { type AppEnv, getAppEnv, type Host } from '../../../contract/app-envs.ts'
import type { AppError } from '../../../errors.ts'
import { client } from '../../api/client.ts'
import { CopyBlock } from '../../components/CopyBlock.tsx'
import { Empty, Problem } from '../../components/states.tsx'
import { Table } from '../../components/Table.tsx'
import { useIsAdmin } from '../alerts/use-alerts.ts'
import { useEnvironment } from '../environments/environment.ts'
import { kindNames, withRoles } from './roles.ts'

/** Addresses with the password masked; an admin may see it, which the audit log records. */
export function Connection() {
  const { appEnvId, accountId, hosts } = useEnvironment()
  const isAdmin = useIsAdmin(accountId)
  // Never a query: the answer stays in this component and is dropped with it.
  const shown = useMutation<AppEnv, AppError>({
    mutationFn: () => client.call(getAppEnv, { appEnvId, decrypt: true }),
    gcTime: 0,
  })
  return (
    <section className="panel" aria-labelledby="connection">
      <header>
        <h2 id="connection">Connection</h2>
        {hosts.length > 0 && isAdmin && (
          <div className="actions">
            <button
              type="button"
              className="button"
              disabled={shown.isPending}
              onClick={() => (shown.data ? shown.reset() : shown.mutate())}
            >
              {shown.data ? 'Hide credentials' : 'Show credentials'}
            </button>
          </div>
        )}
      </header>
      {hosts.length === 0 && (
        <Empty title="No addresses yet">They appear once the database has started.</Empty>
      )}
      <div className="body stack" hidden={hosts.length === 0}>
        <p className="muted small">
          {isAdmin
            ? 'The audit log records who shows the credentials.'
            : 'Only admins of the account see the credentials.'}
        </p>
        <Problem error={shown.error} />
        {shown.data && <Credentials hosts={shown.data.hosts} />}
      </div>
      {hosts.length > 0 && !shown.data && <AddressTable hosts={hosts} />}
    </section>
  )
}

function AddressTable({ hosts }: { hosts: readonly Host[] }) {
  return (
    <Table
      label="List of addresses"
      columns={[
        { title: 'Address', kind: 'mono', cell: ({ url }) => url },
        { title: 'Protocol', cell: ({ kind }) => kindNames[kind] },
        { title: 'Role', cell: ({ role }) => role },
      ]}
      rows={withRoles(hosts)}
      keyOf={({ kind, url }) => `${kind} ${url}`}
    />
  )
}

function Credentials({ hosts }: { hosts: readonly Host[] }) {
  return withRoles(hosts).map(({ url, kind, role }) => (
    <div key={`${kind} ${url}`} className="stack">
      <h3>
        {kindNames[kind]} <span className="muted small">{role}</span>
      </h3>
      <CopyBlock label={`${kindNames[kind]}, ${role}: ${new URL(url).host}`} text={url} />
    </div>
  ))
}
