import { AppError } from '../errors.ts'
import type { ProgressStream } from './progress.ts'

/** What a client command writes to, and how it hears of Ctrl-C. Replaced in tests. */
export interface CommandIo {
  stdout: { write(text: string): unknown }
  stderr: ProgressStream
  /** Calls back once on Ctrl-C or SIGTERM; a second one ends the process as usual. Returns how to stop listening. */
  onInterrupt(callback: () => void): () => void
}

export const processIo: CommandIo = {
  stdout: process.stdout,
  stderr: process.stderr,
  onInterrupt(callback) {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, callback)
    return () => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, callback)
    }
  },
}

/** Exit codes of client commands. */
export const exitCodes = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const

/** A wrong call of the command itself. */
export class UsageError extends Error {}

/** One refusal as a person reads it: what is wrong, then how to mend it. */
export function errorText(error: unknown): string {
  if (!(error instanceof AppError)) return `Error: ${error instanceof Error ? error.message : String(error)}`
  const rule = error.rule ? ` (${error.rule})` : ''
  const retry = error.retryAfterSeconds ? `\nTry again in ${error.retryAfterSeconds} s.` : ''
  return `Error: ${error.message}${rule}.${error.details ? `\n${error.details}` : ''}${retry}`
}

/** The same refusal for a program. */
export function errorJson(error: unknown): Record<string, unknown> {
  if (!(error instanceof AppError)) return { error: error instanceof Error ? error.message : String(error) }
  const { message, details, rule, retryAfterSeconds } = error
  return { error: message, details, rule, retryAfterSeconds }
}
