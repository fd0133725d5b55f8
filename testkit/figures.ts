import os from 'node:os'

/** A value that this share of the others are below; NaN without values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

export function ms(value: number): string {
  return `${value.toFixed(1)} ms`
}

/** The machine and its other load, to be quoted with every figure. */
export function machine(): string {
  const [one, five] = os.loadavg()
  return `${os.cpus().length} cores, load ${one!.toFixed(1)} (5 min ${five!.toFixed(1)}), Node ${process.versions.node}`
}

export function say(...lines: string[]): void {
  for (const line of lines) process.stdout.write(`${line}\n`)
}
