/** `region`: only instances that publish it can do this work. */
interface Work {
  name: string
  region: string | undefined
}

interface Living {
  id: string
  regions: readonly string[]
}

/** Assigns a holder to each lease. `holderOf`: the id of the instance that holds it now. */
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
 * Assigns a cluster region: the holder keeps it while it can run it, because a change interrupts builds and logs.
 * Otherwise one of the instances that can run it is chosen by the name of the region.
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
 * Assigns the parts of the shared work to the instances in turn, in order of their names, so that every instance computes
 * the same result and the work is spread evenly.
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
