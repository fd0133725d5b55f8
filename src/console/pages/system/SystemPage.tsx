import { useQuery } from '@tanstack/react-query'
import { listRegions } from '../../../contract/regions.ts'
import type { AppError } from '../../../errors.ts'
import { statusPage } from '../../api/client.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Badge } from '../../components/Badge.tsx'
import { ScrollArea } from '../../components/ScrollArea.tsx'
import { Failed, Loading } from '../../components/states.tsx'
import { operationWords } from '../../components/words.ts'
import { Installation, Queues, SinceStart } from './Figures.tsx'
import { Instances } from './Instances.tsx'
import { type Metric, operationCounts, parseMetrics } from './metrics-text.ts'

/** Readiness of the platform, its regions, and its own metrics since the start. */
export function SystemPage() {
  return (
    <>
      <div className="page-head">
        <h1>System</h1>
      </div>
      <div className="stack">
        <Readiness />
        <Instances />
        <Regions />
        <Figures />
      </div>
    </>
  )
}

function useStatusPage(pathname: string) {
  return useQuery<{ status: number; text: string }, AppError>({
    queryKey: [pathname],
    queryFn: async ({ signal }) => {
      const { status, text } = await statusPage(pathname, signal)
      return { status, text }
    },
    refetchInterval: everyMs.list,
  })
}

function Readiness() {
  const read = useStatusPage('/readyz')
  if (read.error && !read.data) return <Failed error={read.error} retry={() => read.refetch()} />
  if (!read.data) return <Loading rows={1} />
  const isReady = read.data.status === 200
  const details = isReady ? null : (JSON.parse(read.data.text) as { details?: string }).details
  return (
    <div className={`note tone-${isReady ? 'ok' : 'bad'}`} role="status">
      <strong>{isReady ? 'The platform is ready.' : 'The platform is not ready.'}</strong>
      {details && <span>{details}</span>}
    </div>
  )
}

function Regions() {
  const read = useRead(listRegions, {}, { everyMs: everyMs.chart })
  return (
    <section className="panel" aria-labelledby="regions">
      <header>
        <h2 id="regions">Regions</h2>
      </header>
      {read.error && !read.data && <Failed error={read.error} retry={() => read.refetch()} />}
      {read.isPending && <Loading rows={2} />}
      {read.data && (
        <ScrollArea label="List of regions">
          <table>
            <thead>
              <tr>
                <th scope="col">Region</th>
                <th scope="col">Engine</th>
                <th scope="col">Functions (F5)</th>
                <th scope="col">Isolation</th>
              </tr>
            </thead>
            <tbody>
              {read.data.regions.map(({ region, name, engine, functionDomain, isolation }) => (
                <tr key={region}>
                  <th scope="row">
                    {name} <span className="muted">{region}</span>
                  </th>
                  <td>{engine}</td>
                  <td>
                    {functionDomain ? <code>{functionDomain}</code> : <Badge tone="idle">Not here</Badge>}
                  </td>
                  <td>
                    {isolation.metadataBlocked ? (
                      <Badge tone="ok">Instance metadata blocked</Badge>
                    ) : (
                      <Badge tone="warn">Instance metadata reachable</Badge>
                    )}{' '}
                    <span className="muted small">{isolation.reason}</span>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollArea>
      )}
    </section>
  )
}

function Figures() {
  const read = useStatusPage('/metrics')
  if (read.error && !read.data) return <Failed error={read.error} retry={() => read.refetch()} />
  if (!read.data) return <Loading />
  const metrics = parseMetrics(read.data.text)
  return (
    <>
      <Installation metrics={metrics} />
      <Queues metrics={metrics} />
      <SinceStart metrics={metrics} />
      <Operations metrics={metrics} />
    </>
  )
}

function Operations({ metrics }: { metrics: readonly Metric[] }) {
  const rows = operationCounts(metrics)
  if (rows.length === 0) return null
  return (
    <section className="panel" aria-labelledby="operations">
      <header>
        <h2 id="operations">Operations</h2>
        <span className="muted small">Own errors first</span>
      </header>
      <ScrollArea label="List of operations" style={{ maxHeight: 420 }}>
        <table>
          <thead>
            <tr>
              <th scope="col">Operation</th>
              <th scope="col" className="number">
                Carried out
              </th>
              <th scope="col" className="number">
                Refused
              </th>
              <th scope="col" className="number">
                Own errors
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ operation, ok, refused, faults }) => (
              <tr key={operation}>
                <th scope="row">{operationWords(operation)}</th>
                <td className="number">{ok.toLocaleString()}</td>
                <td className="number">{refused.toLocaleString()}</td>
                <td className="number">
                  {faults > 0 ? <Badge tone="bad">{faults.toLocaleString()}</Badge> : '0'}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollArea>
    </section>
  )
}
