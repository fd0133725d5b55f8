import { stripVTControlCharacters } from 'node:util'

/** Progress output for people, on standard error. */
export interface Progress {
  /** Begins a stage and shows it. */
  stage(text: string): void
  /** Updates the stage. Replaces the line in a terminal; elsewhere prints a line now and then. */
  update(text: string): void
  /** A line that stays, such as a line of a build log. */
  line(text: string): void
  /** Ends the stage with a tick and its result. */
  done(text: string): void
  /** Clears the updated line, so that other text can follow. */
  close(): void
}

export interface ProgressStream {
  write(text: string): unknown
  isTTY?: boolean
  columns?: number
}

/** Without a terminal, an update is printed at most this often. */
const plainUpdateMs = 5_000

export function createProgress(
  stream: ProgressStream,
  options: { interactive?: boolean; nowMs?: () => number } = {},
): Progress {
  const interactive = options.interactive ?? stream.isTTY === true
  return interactive
    ? interactiveProgress(stream)
    : plainProgress(stream, options.nowMs ?? (() => performance.now()))
}

function interactiveProgress(stream: ProgressStream): Progress {
  let current = ''
  const clear = () => {
    if (current !== '') stream.write('\r\u001b[K')
  }
  const show = (text: string) => {
    clear()
    // A line longer than the terminal would wrap, and the next update could not erase it.
    current = text.slice(0, Math.max(20, (stream.columns ?? 80) - 1))
    stream.write(current)
  }
  let stageText = ''
  return {
    stage(text) {
      stageText = printable(text)
      show(`… ${stageText}`)
    },
    update: (text) => show(`… ${stageText} ${printable(text)}`),
    line(text) {
      const kept = current
      clear()
      for (const one of text.split(/\r?\n/)) stream.write(`  ${printable(one)}\n`)
      current = ''
      if (kept !== '') show(kept)
    },
    done(text) {
      clear()
      current = ''
      stream.write(`✓ ${printable(text)}\n`)
    },
    close() {
      clear()
      current = ''
    },
  }
}

function plainProgress(stream: ProgressStream, nowMs: () => number): Progress {
  let writtenMs = 0
  let stageText = ''
  const say = (text: string) => {
    writtenMs = nowMs()
    stream.write(`${text}\n`)
  }
  return {
    stage(text) {
      stageText = printable(text)
      say(`… ${stageText}`)
    },
    update(text) {
      if (nowMs() - writtenMs >= plainUpdateMs) say(`… ${stageText} ${printable(text)}`)
    },
    line(text) {
      for (const one of text.split(/\r?\n/)) say(`  ${printable(one)}`)
    },
    done: (text) => say(`✓ ${printable(text)}`),
    close() {},
  }
}

/** Makes others' text safe for a terminal: one line, without escape, control, direction and zero-width characters. */
export function printable(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/\t/g, '    ')
    .replace(/[\r\n]+/g, ' ')
    .replace(/[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]/gu, '')
}

/** `320 ms`, `12.3 s`, `2 min 5 s`. */
export function readableDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 120_000) return `${(ms / 1_000).toFixed(1)} s`
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`
}
