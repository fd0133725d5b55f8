import { useEffect, useRef, useState } from 'react'

const overscan = 6
/** Rendered before the height is known: one screenful, so that it appears soon. */
const firstRows = 15

/** The visible ones of `count` rows with equal height, in the scrolling element with the ref `place`. No height: all. */
export function useWindow(count: number, rowHeight: number | undefined) {
  const place = useRef<HTMLElement>(null)
  const [range, setRange] = useState({ first: 0, last: firstRows })
  useEffect(() => {
    const element = place.current
    if (!element || rowHeight === undefined) return
    const measure = () => {
      const first = Math.max(0, Math.floor(element.scrollTop / rowHeight) - overscan)
      const last = Math.ceil((element.scrollTop + element.clientHeight) / rowHeight) + overscan
      // The same object if unchanged, so that scrolling within a row does not render.
      setRange((before) => (before.first === first && before.last === last ? before : { first, last }))
    }
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    element.addEventListener('scroll', measure, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', measure)
    }
  }, [rowHeight])
  if (rowHeight === undefined) return { place, first: 0, last: count }
  const first = Math.min(range.first, Math.max(0, count - 1))
  return { place, first, last: Math.min(count, range.last) }
}
