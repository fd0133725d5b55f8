import type { EarlierGrant } from '../../../contract/consent.ts'
import { type Scope, scopes } from '../../../contract/scopes.ts'
import { type ToolGroup, toolGroups } from '../../../contract/tool-groups.ts'
import { counted } from '../../components/words.ts'
import { type AccessScope, accessScope } from './ScopeFields.tsx'

/** The choice of the person. */
export interface Narrowed {
  scopes: readonly Scope[]
  readOnly: boolean
  scope: AccessScope
  groups: readonly ToolGroup[]
  /** All tools of the groups, not only the usual ones. */
  listsAll: boolean
  /** One of `spans`, `never`, or `earlier`: as the earlier access. */
  expiry: string
}

/** What the program may do now, and what the choice on this page would change about it. */
export function Difference({ earlier, chosen }: { earlier: EarlierGrant; chosen: Narrowed }) {
  const changes = changesBetween(earlier, chosen)
  return (
    <section className="note stack" aria-label="What changes">
      <p>
        {earlier.isReplaced
          ? 'This program already has access. What you allow here replaces it:'
          : 'You allowed this program before, and the page starts from that choice. The earlier access stays until you revoke it. Compared with it:'}
      </p>
      <ul>
        {changes.map((change) => (
          <li key={change}>{change}</li>
        ))}
        {changes.length === 0 && <li>Nothing changes</li>}
      </ul>
    </section>
  )
}

function changesBetween(earlier: EarlierGrant, chosen: Narrowed): string[] {
  const changes: string[] = []
  const [had, has] = [effective(earlier), effective(chosen)]
  for (const scope of has) if (!had.includes(scope)) changes.push(`New: ${scopes[scope]}`)
  for (const scope of had) if (!has.includes(scope)) changes.push(`No longer: ${scopes[scope]}`)
  const compare = (what: string, before: string, after: string) => {
    if (before !== after) changes.push(`${what}: ${before} → ${after}`)
  }
  compare('Where', placeOf(accessScope(earlier.pin)), placeOf(chosen.scope))
  compare('Tools', toolsOf(earlier.groups), toolsOf(chosen.groups))
  if (chosen.expiry !== 'earlier')
    changes.push(`Access ends: ${earlier.expiresAt ?? 'when you revoke it'} → as chosen below`)
  return changes
}

function effective({ scopes, readOnly }: { scopes: readonly Scope[]; readOnly: boolean }): Scope[] {
  return scopes.filter((scope) => !readOnly || scope === 'environments:read')
}

/** Two different choices have different words, so that a change is never hidden. */
function placeOf({ account, app, environments }: AccessScope): string {
  if (environments) return `${counted(environments.length, 'environment')} (${environments.join(', ')})`
  if (app) return `the app ${app}`
  return account ? `the account ${account}` : 'everything you can reach'
}

function toolsOf(groups: EarlierGrant['groups'] | Narrowed['groups']): string {
  return groups === null || groups.length === toolGroups.length ? 'all' : groups.join(', ')
}
