/** What the chaos bench found wrong. */
export const problems: string[] = []

export function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
