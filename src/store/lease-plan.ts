/** `region`: only instances that publish it can do this work. */
interface Work {
  name: string
  region: string | undefined
}

interface Living {
  id: string
  regions: readonly string[]
}

/** Who holds each lease. `holderOf`: the id of the instance that holds it now. */
export function planLeases(
  works: readonly Work[],
  living: readonly Living[],
  holderOf: (name: string) => string | undefined,
): ReadonlyMap<string, string> {
  const common = works.flatMap(({ name, region }) => (region === undefined ? [name] : []))
  const plan = new Map(
    assignLeases(
      common,
      living.map(({ id }) => id),
    ),
  )
  for (const { name, region } of works) {
    if (region === undefined) continue
    const able = living.flatMap(({ id, regions }) => (regions.includes(region) ? [id] : []))
    const owner = assignRegion(region, holderOf(name), able)
    if (owner !== undefined) plan.set(name, owner)
  }
  return plan
}

/**
 * Who runs a cluster region: its holder while that one is able, because a change interrupts builds and logs; otherwise one
 * of those that are able, which differs by the name of the region.
 */
function assignRegion(
  region: string,
  holder: string | undefined,
  able: readonly string[],
): string | undefined {
  if (holder !== undefined && able.includes(holder)) return holder
  const sum = [...region].reduce((all, letter) => all + letter.charCodeAt(0), 0)
  return [...able].sort()[sum % able.length]
}

/**
 * Who does which part of the shared work: the parts go round the instances in order of their names, so every instance
 * comes to the same result by itself, and work is spread evenly.
 */
function assignLeases(names: readonly string[], instanceIds: readonly string[]): ReadonlyMap<string, string> {
  const instances = [...instanceIds].sort()
  return new Map(
    [...names].sort().flatMap((name, index) => {
      const instance = instances[index % instances.length]
      return instance === undefined ? [] : [[name, instance] as const]
    }),
  )
}
