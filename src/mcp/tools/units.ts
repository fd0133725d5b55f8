const secondsOf: Readonly<Record<string, number>> = {
  ms: 0.001,
  s: 1,
  sec: 1,
  second: 1,
  m: 60,
  min: 60,
  minute: 60,
  h: 3_600,
  hour: 3_600,
  d: 86_400,
  day: 86_400,
}
const megabytesOf: Readonly<Record<string, number>> = {
  kb: 1 / 1024,
  mb: 1,
  mib: 1,
  m: 1,
  gb: 1024,
  gib: 1024,
  g: 1024,
  tb: 1024 * 1024,
}

/**
 * The number that a text such as `30s`, `5 GB` or `80%` stands for in the unit of an input: seconds, milliseconds, MB
 * or none. Undefined if it has another unit or is no number.
 */
export function numberOf(given: unknown, input: string): number | undefined {
  if (typeof given !== 'string') return undefined
  const [, digits, unit = ''] = /^\s*(-?\d{1,12}(?:\.\d{1,6})?)\s*([a-zA-Z%]*)\s*$/.exec(given) ?? []
  if (digits === undefined) return undefined
  const factor = factorOf(unit.toLowerCase(), input)
  if (factor === undefined) return undefined
  const value = Number(digits) * factor
  return Number.isInteger(value) || factor === 1 ? value : undefined
}

function factorOf(unit: string, input: string): number | undefined {
  if (unit === '') return 1
  if (/percent$/i.test(input)) return unit === '%' || unit === 'percent' ? 1 : undefined
  if (/seconds(?:After\w+)?$/i.test(input) || input === 'step') return seconds(unit)
  if (/ms$/i.test(input)) return times(seconds(unit), 1_000)
  return input === 'disk' || /mb$/i.test(input) ? megabytesOf[unit] : undefined
}

function seconds(unit: string): number | undefined {
  return secondsOf[unit] ?? secondsOf[unit.replace(/s$/, '')]
}

function times(value: number | undefined, factor: number): number | undefined {
  return value === undefined ? undefined : value * factor
}
