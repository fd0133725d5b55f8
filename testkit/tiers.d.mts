export const missing: Readonly<Partial<Record<string, string>>>
export function absentTests(projects: readonly string[]): string | null
