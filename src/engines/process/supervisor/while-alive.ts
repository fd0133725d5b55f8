/** A ping that checks whether the other side is alive. */
interface Sign {
  answer: Promise<unknown>
  /** Stops waiting for the reply. */
  forget(): void
}

/**
 * Waits for `answer` while the other side is alive: after each `silenceMs` without an answer it sends a ping, and if
 * that is not answered within `silenceMs` it rejects with the error from `silent`. A request may take long (a stop
 * waits for its grace period), but a live supervisor answers pings meanwhile.
 */
export async function whileAlive(
  answer: Promise<unknown>,
  options: { silenceMs: number; ask(): Sign; silent(): Error },
): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined
  let over = false
  const silence = new Promise<never>((_resolve, reject) => {
    const watch = () => {
      timer = setTimeout(() => {
        const sign = options.ask()
        timer = setTimeout(() => {
          sign.forget()
          reject(options.silent())
        }, options.silenceMs)
        sign.answer.then(
          () => {
            clearTimeout(timer)
            if (!over) watch()
          },
          // The connection is lost: `answer` reports it.
          () => clearTimeout(timer),
        )
      }, options.silenceMs)
    }
    watch()
  })
  try {
    return await Promise.race([answer, silence])
  } finally {
    over = true
    clearTimeout(timer)
  }
}
