import { useId } from 'react'
import type { AppError } from '../../errors.ts'
import { aboutInput } from '../words/text.ts'

interface Props {
  label: string
  /** Name of the input in the contract: the platform's message about it appears here. */
  name: string
  error?: AppError | null
  hint?: string
  children: (props: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: boolean }) => React.ReactNode
}

export function Field({ label, name, error = null, hint, children }: Props) {
  const id = useId()
  const problem = problemOf(error, name)
  const described = problem || hint ? `${id}-note` : undefined
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        ...(described ? { 'aria-describedby': described } : {}),
        ...(problem ? { 'aria-invalid': true } : {}),
      })}
      {described && (
        <span id={described} className={problem ? 'problem' : 'muted small'}>
          {problem === null ? hint : aboutInput(problem, name)}
        </span>
      )}
    </div>
  )
}

/** The part of the platform's error about this input, found by the input's name in `details`. */
export function problemOf(error: AppError | null, name: string): string | null {
  if (error?.kind !== 'invalid') return null
  const problems = (error.details ?? '').split('; ')
  const part = problems.find((one) => new RegExp(`(^|[\\s.])${name}\\b`).test(one))
  return part ?? (new RegExp(`\\b${name}\\b`).test(error.message) ? error.message : null)
}
