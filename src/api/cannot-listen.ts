import { AppError } from '../errors.ts'

/** Why the API cannot listen, with the remedy; other causes unchanged. */
export function cannotListen(cause: unknown, host: string, port: number): unknown {
  const code = (cause as NodeJS.ErrnoException | null)?.code
  const reasons: Record<string, [string, string]> = {
    EADDRINUSE: [
      `Port ${port} of ${host} is already in use`,
      'Stop the other process, or set LONGSHORE_PORT to another port (0 picks a free one).',
    ],
    EACCES: [`Port ${port} may not be used by this user`, 'Set LONGSHORE_PORT to a port from 1024 up.'],
    EADDRNOTAVAIL: [
      `${host} is not an address of this machine`,
      'Set LONGSHORE_HOST to 127.0.0.1 or 0.0.0.0.',
    ],
    ENOTFOUND: [`${host} is not a known host name`, 'Set LONGSHORE_HOST to 127.0.0.1 or 0.0.0.0.'],
  }
  const reason = code === undefined ? undefined : reasons[code]
  return reason === undefined ? cause : new AppError('unavailable', reason[0], { details: reason[1], cause })
}
