import type { ProbeCheck, ProbeLevel } from '../../../contract/function-probe.ts'
import { Badge } from '../../components/Badge.tsx'
import { ScrollArea } from '../../components/ScrollArea.tsx'
import { quantity } from '../../components/words.ts'

/** The same numbers as in the charts, and what failed. */
export function ProbeTable({ levels }: { levels: readonly ProbeLevel[] }) {
  return (
    <ScrollArea label="Steps of the probe">
      <table>
        <thead>
          <tr>
            {['At a time', 'Requests', 'Answered', 'Errors', 'Median', '95th percentile', 'Containers'].map(
              (name) => (
                <th key={name} scope="col" className="number">
                  {name}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {levels.map((level) => (
            <tr key={level.concurrency}>
              <th scope="row" className="number">
                {level.concurrency}
              </th>
              <td className="number">{level.requests.toLocaleString()}</td>
              <td className="number">{level.ok.toLocaleString()}</td>
              <td className="number">{errorsOf(level)}</td>
              <td className="number">{quantity(level.p50Seconds, 's')}</td>
              <td className="number">{quantity(level.p95Seconds, 's')}</td>
              <td className="number">{level.containers}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollArea>
  )
}

function errorsOf({ answered4xx, answered5xx, refused, failed }: ProbeLevel): string {
  const kinds = [
    [answered4xx, '4xx'],
    [answered5xx, '5xx'],
    [refused, 'refused'],
    [failed, 'without an answer'],
  ] as const
  const seen = kinds.filter(([count]) => count > 0)
  return seen.length === 0 ? '0' : seen.map(([count, kind]) => `${count.toLocaleString()} ${kind}`).join(', ')
}

const rules: Record<ProbeCheck['rule'], string> = {
  F1: 'Scales to zero when idle (F1)',
  F2: 'A request wakes it (F2)',
  F3: 'Containers are added in time (F3)',
}

export function ProbeChecks({ checks }: { checks: readonly ProbeCheck[] }) {
  return (
    <ul className="stack" aria-label="Rules that the probe checked">
      {checks.map(({ rule, holds, because }) => (
        <li key={rule}>
          {holds === null && <Badge tone="idle">Not seen</Badge>}
          {holds === true && <Badge tone="ok">Holds</Badge>}
          {holds === false && <Badge tone="bad">Does not hold</Badge>} <strong>{rules[rule]}</strong>{' '}
          <span className="muted">{because}</span>
        </li>
      ))}
    </ul>
  )
}
