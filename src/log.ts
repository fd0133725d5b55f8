import { writeSync } from 'node:fs'
import pino, { type DestinationStream, type Logger } from 'pino'

export type Log = Logger

/** A log on standard error: standard output belongs to the MCP stdio transport and the ready line. */
export function createLog(
  name: string,
  level = 'info',
  destination: DestinationStream = logDestination(2),
): Log {
  return pino(
    {
      name,
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: {
        paths: [
          'token',
          'authorization',
          'password',
          '*.token',
          '*.authorization',
          '*.password',
          'headers.authorization',
        ],
        censor: '***',
      },
    },
    destination,
  )
}

/**
 * Drops lines that cannot be written, such as to a file on a full disk: code that logs must not fail because of it. (The
 * destination of pino throws, and waits on the event loop for a slow reader.)
 */
function logDestination(fd: number): DestinationStream {
  return {
    write(line) {
      const bytes = Buffer.from(line)
      try {
        for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at)
      } catch {
        // The next line may find space again.
      }
    },
  }
}

/** A value that cannot be printed or serialized by accident. */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** The clear value; call it only where the value is used. */
  reveal(): string {
    return this.#value
  }

  toString(): string {
    return '***'
  }

  toJSON(): string {
    return '***'
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return '***'
  }
}
