import { useMutation, useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import type { Consent, ConsentAnswer, ConsentDecision } from '../../../contract/consent.ts'
import type { AppError } from '../../../errors.ts'
import { sessionRequest } from '../../api/session.ts'
import { PageTitle } from '../../components/PageTitle.tsx'
import { Empty, Failed, Loading } from '../../components/states.tsx'
import { Logo } from '../../shell/Frame.tsx'
import { ConsentForm } from './ConsentForm.tsx'

/** On this page, a person decides about the access that a program requests. */
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
  const email = read.data && 'client' in read.data ? read.data.email : undefined
  const decide = useMutation<ConsentAnswer, AppError, Omit<ConsentDecision, 'request' | 'email'>>({
    mutationFn: (decision) =>
      sessionRequest('POST', '/console/authorization', {
        request,
        email,
        ...decision,
      }) as Promise<ConsentAnswer>,
  })
  const answer = decide.data
  // Only after a decision: anybody can register a program, and would lead people from here to any address.
  useEffect(() => {
    if (answer) location.assign(answer.redirectTo)
  }, [answer])
  return (
    <main className="sign-in consent">
      <div className="panel stack">
        <div className="row">
          <Logo />
          <PageTitle>Connect an agent</PageTitle>
        </div>
        {read.isPending && <Loading />}
        {read.error && <Failed error={read.error} />}
        {answer && <Empty title="Back to the program">You can close this page if nothing else opens.</Empty>}
        {read.data && 'redirectTo' in read.data && (
          <Empty title="This request cannot be granted">
            <p>
              The program can show you why. The way back leads to <strong>{read.data.returnsTo}</strong>: go
              on only if you started this there.
            </p>
            <a className="button" href={read.data.redirectTo} rel="noreferrer">
              Back to the program
            </a>
          </Empty>
        )}
        {!answer && read.data && 'client' in read.data && (
          <ConsentForm
            consent={read.data}
            error={decide.error}
            busy={decide.isPending}
            decide={decide.mutate}
          />
        )}
      </div>
    </main>
  )
}
