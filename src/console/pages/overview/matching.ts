interface Searchable {
  name: string
  cliEnvName: string
  appName: string
  region: string
  status: string
}

/** Rows in which every word of `find` occurs somewhere, in any order. */
export function matching<Row extends Searchable>(rows: readonly Row[], find: string, status?: string): Row[] {
  const words = find.toLowerCase().split(/\s+/).filter(Boolean)
  return rows.filter((row) => {
    if (status !== undefined && row.status !== status) return false
    const text = `${row.appName} ${row.name} ${row.cliEnvName} ${row.region}`.toLowerCase()
    return words.every((word) => text.includes(word))
  })
}
