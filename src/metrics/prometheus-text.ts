/** One family of the Prometheus text format. */
export interface MetricFamily {
  name: string
  help: string
  type: 'counter' | 'gauge'
  values: readonly { labels?: Readonly<Record<string, string>>; value: number }[]
}

/** The Prometheus text format, version 0.0.4. */
export function prometheusText(families: readonly MetricFamily[]): string {
  return families.map(familyText).join('')
}

function familyText({ name, help, type, values }: MetricFamily): string {
  const lines = values.map(({ labels, value }) => `${name}${labelText(labels)} ${value}\n`)
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

function labelText(labels: Readonly<Record<string, string>> | undefined): string {
  const pairs = Object.entries(labels ?? {}).map(([key, value]) => `${key}="${escaped(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escaped(value: string): string {
  return value.replace(/\\/g, '\\\\').replace(/\n/g, '\\n').replace(/"/g, '\\"')
}
