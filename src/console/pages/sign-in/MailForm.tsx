import { useState } from 'react'
import type { AppError } from '../../../errors.ts'
import { sessionRequest } from '../../api/session.ts'
import { Problem } from '../../components/states.tsx'

/** Asks for a link by e-mail. The answer is the same for every address. */
export function MailForm() {
  const [email, setEmail] = useState('')
  const [sent, setSent] = useState<string | null>(null)
  const [error, setError] = useState<AppError | null>(null)
  const ask = async () => {
    setError(null)
    try {
      const answer = await sessionRequest('POST', '/console/sign-in-mail', { email })
      setSent((answer as { message: string }).message)
    } catch (refusal) {
      setError(refusal as AppError)
    }
  }
  if (sent !== null) return <p role="status">{sent}</p>
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        void ask()
      }}
    >
      <div className="field">
        <label htmlFor="email">E-mail address</label>
        <input
          id="email"
          type="email"
          autoComplete="username webauthn"
          value={email}
          onChange={(event) => setEmail(event.target.value)}
          required
        />
      </div>
      <Problem error={error} />
      <button type="submit" className="button">
        Send me a link
      </button>
    </form>
  )
}
