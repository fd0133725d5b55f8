import type { Deployment } from './app-env-reads.ts'

type Failure = NonNullable<Deployment['failure']>

/** Why a deployment failed, in the words of its diagnosis where that knows more than the deployment recorded. */
export function failureWords({
  reason,
  message,
  cause,
  explanation,
}: Failure): Pick<Failure, 'reason' | 'message'> {
  return explanation && cause ? { reason: cause, message: explanation } : { reason, message }
}
