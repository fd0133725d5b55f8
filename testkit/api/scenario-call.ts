export type Json = Record<string, unknown>

// biome-ignore lint/suspicious/noExplicitAny: answers are checked against their rows, and read by their parts here
export type Answer = any
export type Call = (id: string, input?: Json) => Promise<Answer>
