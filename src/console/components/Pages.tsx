import { whole } from './words.ts'

interface Props {
  offset: number
  size: number
  total: number
  go: (offset: number) => void
}

/** Newer and older entries of a long list. */
export function Pages({ offset, size, total, go }: Props) {
  if (total <= size && offset === 0) return null
  return (
    <div className="body row">
      <button
        type="button"
        className="button"
        disabled={offset === 0}
        onClick={() => go(Math.max(0, offset - size))}
      >
        Newer
      </button>
      <button
        type="button"
        className="button"
        disabled={offset + size >= total}
        onClick={() => go(offset + size)}
      >
        Older
      </button>
      <span className="muted small">{whole(total)} entries</span>
    </div>
  )
}
