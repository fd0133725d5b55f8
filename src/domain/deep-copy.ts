/** A copy of plain data, such as a stored record. Strings are shared: they may add up to megabytes. */
export function deepCopy<T>(value: T): T {
  if (Array.isArray(value)) return value.map(deepCopy) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, deepCopy(inner)])) as T
}
