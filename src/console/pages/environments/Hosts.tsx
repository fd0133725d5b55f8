import type { Host } from '../../../contract/app-envs.ts'
import { Empty } from '../../components/states.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { useEnvironment } from './environment.ts'

const columns: Column<Host>[] = [
  {
    title: 'Address',
    kind: 'mono',
    cell: ({ url, kind }) =>
      /^https?:\/\//.test(url) && kind !== 'internal' ? (
        <a href={url} target="_blank" rel="noreferrer noopener">
          {url}
        </a>
      ) : (
        url
      ),
  },
  { title: 'Kind', kind: 'muted', cell: ({ kind }) => kind },
]

/** Addresses of the environment. The platform masks credentials in them. */
export function Hosts() {
  const { hosts } = useEnvironment()
  return (
    <section className="panel" aria-labelledby="hosts">
      <header>
        <h2 id="hosts">Hosts</h2>
      </header>
      {hosts.length === 0 && <Empty title="No hosts">An address appears after the first deployment.</Empty>}
      {hosts.length > 0 && (
        <Table
          label="List of hosts"
          columns={columns}
          rows={hosts}
          keyOf={({ url, kind }) => `${kind} ${url}`}
        />
      )}
    </section>
  )
}
