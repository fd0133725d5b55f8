/**
 * Who does which part of the shared work: the parts go round the instances in order of their names, so every instance
 * comes to the same result by itself, and work is spread evenly.
 */
export function assignLeases(
  names: readonly string[],
  instanceIds: readonly string[],
): ReadonlyMap<string, string> {
  const instances = [...instanceIds].sort()
  return new Map(
    [...names].sort().flatMap((name, index) => {
      const instance = instances[index % instances.length]
      return instance === undefined ? [] : [[name, instance] as const]
    }),
  )
}
