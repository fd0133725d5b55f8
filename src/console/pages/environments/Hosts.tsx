import { Empty } from '../../components/states.tsx'
import { useEnvironment } from './environment.ts'

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
        <table>
          <thead>
            <tr>
              <th scope="col">Address</th>
              <th scope="col">Kind</th>
            </tr>
          </thead>
          <tbody>
            {hosts.map(({ url, kind }) => (
              <tr key={`${kind} ${url}`}>
                <td className="mono">
                  {/^https?:\/\//.test(url) && kind !== 'internal' ? (
                    <a href={url} target="_blank" rel="noreferrer noopener">
                      {url}
                    </a>
                  ) : (
                    url
                  )}
                </td>
                <td className="muted">{kind}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}
