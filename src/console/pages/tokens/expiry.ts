const dayMs = 86_400_000

/** When access may end, in days. */
export const spans = [
  ['1', 'In 1 day'],
  ['7', 'In 7 days'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
] as const

/** The input of create-user-token for a choice. `date`, as an input of type date gives it, means the end of that day. */
export function expiresAtOf(choice: string, date: string): { expiresAt?: string } {
  if (choice === 'never') return {}
  const atMs = choice === 'date' ? Date.parse(`${date}T23:59:59`) : Date.now() + Number(choice) * dayMs
  return { expiresAt: new Date(atMs).toISOString() }
}

/** The first day that can be chosen, in the reader's zone. */
export function today(): string {
  const now = new Date()
  return new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 10)
}
