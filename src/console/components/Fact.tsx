import type { ReactNode } from 'react'

/** A term and its value in a list of facts; `note` stands beside the value in smaller type. */
export function Fact({ label, value, note }: { label: string; value: ReactNode; note?: string | undefined }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>
        {note ? (
          <>
            {value} <small>{note}</small>
          </>
        ) : (
          value
        )}
      </dd>
    </div>
  )
}
