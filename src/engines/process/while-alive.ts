/** A word sent to see whether the other side lives. */
export interface Sign {
  answer: Promise<unknown>
  /** Nobody waits for it any more. */
  forget(): void
}

/**
 * Waits for `answer` as long as the other side lives: after each `silenceMs` without it a sign is asked for, and
 * when that does not come within `silenceMs` either this rejects with what `silent` makes. A verb may take long
 * (a stop waits for its grace), but one that lives says something meanwhile.
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
          // The connection is lost: `answer` says so.
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
