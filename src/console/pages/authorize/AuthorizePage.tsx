import { useMutation, useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import type { Consent, ConsentAnswer, ConsentDecision } from '../../../contract/consent.ts'
import type { AppError } from '../../../errors.ts'
import { sessionRequest } from '../../api/session.ts'
import { Empty, Failed, Loading } from '../../components/states.tsx'
import { Logo } from '../../shell/Frame.tsx'
import { ConsentForm } from './ConsentForm.tsx'

/** A person decides what a program that asks for access may do. */
export function AuthorizePage() {
  const { request = '' } = useSearch({ from: '/authorize' })
  const read = useQuery<Consent, AppError>({
    queryKey: ['consent', request],
    queryFn: () =>
      sessionRequest(
        'GET',
        `/console/authorization?request=${encodeURIComponent(request)}`,
        null,
      ) as Promise<Consent>,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const decide = useMutation<ConsentAnswer, AppError, Omit<ConsentDecision, 'request'>>({
    mutationFn: (decision) =>
      sessionRequest('POST', '/console/authorization', { request, ...decision }) as Promise<ConsentAnswer>,
  })
  const answer = decide.data ?? (read.data && 'redirectTo' in read.data ? read.data : null)
  useEffect(() => {
    if (answer) location.assign(answer.redirectTo)
  }, [answer])
  return (
    <main className="sign-in consent">
      <div className="panel stack">
        <div className="row">
          <Logo />
          <h1>Connect an agent</h1>
        </div>
        {read.isPending && <Loading />}
        {read.error && <Failed error={read.error} />}
        {answer && <Empty title="Back to the program">You can close this page if nothing else opens.</Empty>}
        {!answer && read.data && 'client' in read.data && (
          <ConsentForm
            consent={read.data}
            error={decide.error}
            busy={decide.isPending}
            decide={(decision) => decide.mutate(decision)}
          />
        )}
      </div>
    </main>
  )
}
