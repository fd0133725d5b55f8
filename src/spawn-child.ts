import { spawn } from 'node:child_process'
import { AppError } from './errors.ts'

/**
 * As `spawn`, but throws `unavailable` if this process has no open files left. The child of `spawn` then has no streams
 * and reports its error later; that error would end the process, because the code that reads the streams fails before it
 * listens.
 */
export const spawnChild = ((...args: Parameters<typeof spawn>) => {
  const child = spawn(...args)
  child.on('error', () => {})
  if (child.stdio) return child
  throw new AppError('unavailable', 'The server has too many open files to start a program', {
    details: 'Try again later. An operator can raise the limit (ulimit -n).',
  })
}) as typeof spawn
