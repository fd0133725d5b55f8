import type { Impact } from '../../../contract/impact.ts'
import { Badge } from '../../components/Badge.tsx'
import { whole } from '../../components/words.ts'
import { type ImpactFact, impactFacts } from '../../words/approvals.ts'
import type { NameOf } from '../../words/values.ts'

/** What a write ends, loses, interrupts and costs, one tile each. */
export function ImpactPicture({ impact, nameOf }: { impact: Impact; nameOf: NameOf }) {
  return (
    <ul className="impact" aria-label="Impact">
      {impactFacts(impact, nameOf).map((fact) => (
        <li key={fact.key}>
          <Badge tone={fact.tone}>{fact.title}</Badge>
          {fact.boxes !== undefined && fact.boxes > 0 && <Boxes fact={fact} count={fact.boxes} />}
          {fact.note && <span className="muted small">{fact.note}</span>}
        </li>
      ))}
    </ul>
  )
}

const mostDrawn = 12

/** Containers as boxes; those that end are crossed out. */
function Boxes({ fact: { key, tone }, count }: { fact: ImpactFact; count: number }) {
  const drawn = Math.min(count, mostDrawn)
  const box = `h13v13h-13z${key === 'ended' ? 'm3 3l7 7m0 -7l-7 7' : ''}`
  const path = Array.from({ length: drawn }, (_, at) => `M${at * 19 + 1.5} 1.5${box}`).join('')
  return (
    <span className={`row boxes tone-${tone}`} aria-hidden="true">
      <svg viewBox={`0 0 ${drawn * 19} 16`} width={drawn * 19} height={16} aria-hidden="true">
        <path d={path} />
      </svg>
      {count > drawn && <small>+{whole(count - drawn)}</small>}
    </span>
  )
}
