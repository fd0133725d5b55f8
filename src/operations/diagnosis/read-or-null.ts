import { AppError } from '../../errors.ts'

/** Null for facts that cannot be read now: the answer then does not list them as checked. */
export async function readOrNull<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}
