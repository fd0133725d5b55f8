import pino, { type DestinationStream, type Logger } from 'pino'

export type Log = Logger

/** A log on standard error: standard output belongs to the MCP stdio transport and the ready line. */
export function createLog(
  name: string,
  level = 'info',
  destination: DestinationStream = pino.destination({ fd: 2, sync: true }),
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
