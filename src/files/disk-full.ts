import { AppError } from '../errors.ts'

/** The installation's disk is full, which the tenant cannot fix. */
export function diskFull(cause: unknown): AppError {
  return new AppError('unavailable', 'No space left', {
    details: 'The disk of the installation is full. Free some space there, then deploy again.',
    retryAfterSeconds: 60,
    cause,
  })
}
