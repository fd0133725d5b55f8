export interface Metric {
  name: string
  labels: Readonly<Record<string, string>>
  value: number
}

/** Samples of the Prometheus text format; skips comments and invalid lines. */
export function parseMetrics(text: string): Metric[] {
  return text.split('\n').flatMap((line) => {
    const match = /^([a-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/i.exec(line)
    if (!match || Number.isNaN(Number(match[3]))) return []
    const labels = [...(match[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(
      ([, label, value]) => [label, value] as [string, string],
    )
    return [{ name: match[1]!, labels: Object.fromEntries(labels), value: Number(match[3]) }]
  })
}

/** Calls by operation since the platform started, operations with platform errors first. */
export function operationCounts(
  metrics: readonly Metric[],
): { operation: string; ok: number; refused: number; faults: number }[] {
  const known = new Map<string, { operation: string; ok: number; refused: number; faults: number }>()
  for (const { name, labels, value } of metrics) {
    if (name !== 'longshore_operations_total' || labels.operation === undefined) continue
    const { operation, outcome } = labels
    const row = known.get(operation) ?? { operation, ok: 0, refused: 0, faults: 0 }
    if (outcome === 'ok') row.ok += value
    else if (outcome === 'bug' || outcome === 'unavailable') row.faults += value
    else row.refused += value
    known.set(operation, row)
  }
  return [...known.values()].sort((a, b) => b.faults - a.faults || b.ok + b.refused - a.ok - a.refused)
}
