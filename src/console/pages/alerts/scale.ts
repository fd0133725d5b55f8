/** Values between the lower and the upper edge of a chart, and the step by which a threshold moves. */
export interface Scale {
  bottom: number
  top: number
  step: number
}

/** From zero, or a round number below the lowest negative value, to a round number above all values. */
export function scaleOf(values: readonly number[]): Scale {
  const top = niceAbove(1.2 * Math.max(0, ...values))
  const lowest = Math.min(0, ...values)
  const bottom = lowest < 0 ? -niceAbove(-1.2 * lowest) : 0
  return { bottom, top, step: 10 ** Math.floor(Math.log10((top - bottom) / 50)) }
}

function niceAbove(value: number): number {
  if (value <= 0) return 1
  const unit = 10 ** Math.floor(Math.log10(value))
  return unit * ([1, 2, 3, 4, 5, 6, 8].find((times) => value <= times * unit) ?? 10)
}

/** The value at a share of the height (0 at the bottom, 1 at the top), on a step and inside the scale. */
export function valueAt({ bottom, top, step }: Scale, share: number): number {
  const value = bottom + Math.min(1, Math.max(0, share)) * (top - bottom)
  return onStep(value, step)
}

/** The threshold after a key press; null for other keys. */
export function movedByKey(scale: Scale, threshold: number, key: string): number | null {
  const { bottom, top, step } = scale
  const moves: Record<string, number> = {
    ArrowUp: threshold + step,
    ArrowRight: threshold + step,
    ArrowDown: threshold - step,
    ArrowLeft: threshold - step,
    PageUp: threshold + 10 * step,
    PageDown: threshold - 10 * step,
    Home: bottom,
    End: top,
  }
  const moved = moves[key]
  return moved === undefined ? null : onStep(Math.min(top, Math.max(bottom, moved)), step)
}

function onStep(value: number, step: number): number {
  return Number((Math.round(value / step) * step).toPrecision(12))
}
