/** Problems that the chaos bench found. */
export const problems: string[] = []

export function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
