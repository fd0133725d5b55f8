import { AppError } from '../errors.ts'
import { type ProgressStream, printable } from './progress.ts'

/** Output streams, signals and prompts of a client command. Replaced in tests. */
export interface CommandIo {
  stdout: { write(text: string): unknown }
  stderr: ProgressStream
  /** Calls back once on Ctrl-C or SIGTERM; a second one ends the process. Returns a function that stops listening. */
  onInterrupt(callback: () => void): () => void
  /** Asks the person at the terminal for a line; null without a terminal. */
  ask?(question: string): Promise<string | null>
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
  async ask(question) {
    if (!process.stdin.isTTY || !process.stderr.isTTY) return null
    const { createInterface } = await import('node:readline/promises')
    const terminal = createInterface({ input: process.stdin, output: process.stderr })
    try {
      return await terminal.question(question)
    } finally {
      terminal.close()
    }
  },
}

/** Exit codes of client commands. */
export const exitCodes = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const

/** A wrong call of a command; `path` names the command whose help to show. */
export class UsageError extends Error {
  constructor(
    message: string,
    readonly path?: string,
  ) {
    super(message)
  }
}

/** An error for people: problem, then remedy. Safe for a terminal: it may quote a program of a tenant. */
export function errorText(error: unknown): string {
  return sentencesOf(error).split('\n').map(printable).join('\n')
}

function sentencesOf(error: unknown): string {
  if (!(error instanceof AppError)) return `Error: ${error instanceof Error ? error.message : String(error)}`
  const rule = error.rule ? ` (${error.rule})` : ''
  const retry = error.retryAfterSeconds ? `\nTry again in ${error.retryAfterSeconds} s.` : ''
  return `Error: ${error.message}${rule}.${error.details ? `\n${error.details}` : ''}${retry}`
}

/** An error for programs. */
export function errorJson(error: unknown): Record<string, unknown> {
  if (!(error instanceof AppError)) return { error: error instanceof Error ? error.message : String(error) }
  const { message, details, rule, retryAfterSeconds } = error
  return { error: message, details, rule, retryAfterSeconds }
}
