import { isDeepStrictEqual } from 'node:util'
import type { Environment } from '../../domain/environments/environment.ts'
import type { Change } from './handler.ts'

/** References of `environment` took new values from `source`: names only, because the values were not written there. */
export function refreshedChange(
  { appEnvId, accountId }: Environment,
  source: Environment,
  variables: readonly string[],
): Change {
  const after = { refreshed: { source: source.appEnvId, variables } } satisfies Refreshed
  return { objectType: 'app-env', objectId: appEnvId, accountId, before: {}, after }
}

export interface Refreshed {
  refreshed: { source: string; variables: readonly string[] }
}

/**
 * The two objects of an audit entry, with each variable that did not change reduced to its name: an entry of one
 * changed variable must not hold megabytes of the others. The names keep the order, for undo-change.
 */
export function recorded(before: unknown, after: unknown): { before: unknown; after: unknown } {
  const [one, other] = [withLayers(before), withLayers(after)]
  if (!one || !other) return { before, after }
  for (const layer of ['saved', 'applied'] as const) {
    const unchanged = unchangedNames(one[layer].envVars, other[layer].envVars)
    one[layer] = reduced(one[layer], unchanged)
    other[layer] = reduced(other[layer], unchanged)
  }
  return { before: one, after: other }
}

interface Named {
  name: string
}
interface Layers {
  saved: { envVars: Named[] }
  applied: { envVars: Named[] }
}

/** A shallow copy of an environment; null for any other object. */
function withLayers(value: unknown): Layers | null {
  const { saved, applied } = (value ?? {}) as Partial<Layers>
  return saved?.envVars && applied?.envVars ? { ...(value as Layers) } : null
}

function unchangedNames(before: readonly Named[], after: readonly Named[]): Set<string> {
  const known = new Map(before.map((one) => [one.name, one]))
  const unchanged = after.filter((one) => isDeepStrictEqual(one, known.get(one.name)))
  return new Set(unchanged.map(({ name }) => name))
}

function reduced<Layer extends { envVars: Named[] }>(layer: Layer, unchanged: ReadonlySet<string>): Layer {
  const envVars = layer.envVars.map((one) => (unchanged.has(one.name) ? { name: one.name } : one))
  return { ...layer, envVars }
}
