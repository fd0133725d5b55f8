export type Tone = 'ok' | 'busy' | 'warn' | 'bad' | 'idle'

/** A state as text with its own shape, because color must not be the only signal. */
const shapes: Record<Tone, React.ReactNode> = {
  ok: <circle cx="5" cy="5" r="4" fill="currentColor" />,
  busy: <path d="M5 1a4 4 0 1 1-4 4" fill="none" stroke="currentColor" strokeWidth="2" />,
  warn: <path d="M5 .8 9.6 9H.4Z" fill="currentColor" />,
  bad: <path d="M1.4 1.4 8.6 8.6M8.6 1.4 1.4 8.6" stroke="currentColor" strokeWidth="2.2" />,
  idle: <circle cx="5" cy="5" r="3.4" fill="none" stroke="currentColor" strokeWidth="1.8" />,
}

export function Badge({ tone, children }: { tone: Tone; children: React.ReactNode }) {
  return (
    <span className={`badge tone-${tone}`}>
      <svg viewBox="0 0 10 10" aria-hidden="true">
        {shapes[tone]}
      </svg>
      {children}
    </span>
  )
}
