interface Props {
  label: string
  children: React.ReactNode
  place?: React.Ref<HTMLElement>
  style?: React.CSSProperties
}

/** A scrolling region, reachable by keyboard. */
export function ScrollArea({ label, children, place, style }: Props) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without it the keyboard could not scroll the region
    <section className="scroller" ref={place} style={style} tabIndex={0} aria-label={label}>
      {children}
    </section>
  )
}
