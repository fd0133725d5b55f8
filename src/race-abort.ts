import { addAbortListener } from 'node:events'

/**
 * Returns the result of `promise`; throws the reason of `signal` if it has aborted or aborts first. For calls of libraries
 * that take no signal. `discard` gets a result that comes later.
 */
export async function raceAbort<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  discard: (late: T) => void = () => {},
): Promise<T> {
  let listening: Disposable | undefined
  const aborted = new Promise<never>((_resolve, reject) => {
    listening = addAbortListener(signal, () => reject(signal.reason))
  })
  try {
    return await Promise.race([promise, aborted])
  } catch (error) {
    promise.then(discard, () => {})
    throw error
  } finally {
    listening?.[Symbol.dispose]()
  }
}
