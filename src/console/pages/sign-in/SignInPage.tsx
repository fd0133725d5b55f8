import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useRouter, useSearch } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { listAccounts } from '../../../contract/accounts.ts'
import { listAppEnvs } from '../../../contract/app-envs.ts'
import type { SignInMethods } from '../../../contract/sign-in.ts'
import { getUser } from '../../../contract/users.ts'
import type { AppError } from '../../../errors.ts'
import { askForPasskey } from '../../api/passkeys.ts'
import { prefetch } from '../../api/queries.ts'
import { onOtherTabSignedIn, type Presented, sessionRequest, signIn } from '../../api/session.ts'
import { PageTitle } from '../../components/PageTitle.tsx'
import { Problem } from '../../components/states.tsx'
import { Logo } from '../../shell/Frame.tsx'
import { firstOf } from '../overview/use-environments.ts'
import { insideConsole, overviewPath } from './inside-console.ts'
import { MailForm } from './MailForm.tsx'

export function SignInPage() {
  const { mailed, error, setError, busy, enter } = useSignIn()
  const [methods, setMethods] = useState<SignInMethods | null>(null)
  useEffect(() => {
    // Without an answer the token remains, which every installation takes.
    void sessionRequest('GET', '/console/sign-in-methods', null).then(
      (found) => setMethods(found as SignInMethods),
      () => undefined,
    )
  }, [])
  return (
    <main className="sign-in">
      <div className="panel stack">
        <div className="row">
          <Logo />
          <PageTitle>Sign in to Longshore</PageTitle>
        </div>
        {mailed ? (
          <MailedLink mailed={mailed} busy={busy} enter={enter} />
        ) : (
          <>
            {methods?.passkey && <PasskeyButton busy={busy} enter={enter} fail={setError} />}
            {methods?.oidc && <OidcLink name={methods.oidc} />}
            {methods?.email && <MailForm />}
            <TokenForm busy={busy} enter={enter} />
          </>
        )}
        <Problem error={error} />
      </div>
    </main>
  )
}

interface FormProps {
  busy: boolean
  enter: (by: Presented) => Promise<void>
}

function PasskeyButton({ busy, enter, fail }: FormProps & { fail: (error: AppError) => void }) {
  const ask = () =>
    askForPasskey().then(
      (passkey) => enter({ passkey }),
      (error) => fail(error as AppError),
    )
  return (
    <button type="button" className="button primary" disabled={busy} onClick={() => void ask()}>
      Sign in with a passkey
    </button>
  )
}

/** A whole page load: the provider's pages are not of this program. */
function OidcLink({ name }: { name: string }) {
  const { next } = useSearch({ from: '/sign-in' })
  const query = next === undefined ? '' : `?next=${encodeURIComponent(next)}`
  return (
    <a className="button" href={`/console/oidc${query}`}>
      Sign in with {name}
    </a>
  )
}

function TokenForm({ busy, enter }: FormProps) {
  const [token, setToken] = useState('')
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        void enter({ token })
      }}
    >
      <p className="muted">
        Run <code>longshore console</code> on the machine for a link that signs you in, or paste a user token.
      </p>
      <div className="field">
        <label htmlFor="token">User token</label>
        <input
          id="token"
          type="password"
          autoComplete="off"
          spellCheck={false}
          value={token}
          onChange={(event) => setToken(event.target.value)}
          placeholder="lsu_…"
          required
        />
      </div>
      <button type="submit" className="button primary" disabled={busy}>
        {busy ? 'Signing in…' : 'Sign in'}
      </button>
    </form>
  )
}

interface Mailed {
  mailCode: string
  email: string
}

/** A click, because mail scanners open links; with the address, because somebody else may have sent their own link. */
function MailedLink({ mailed, busy, enter }: FormProps & { mailed: Mailed }) {
  return (
    <>
      <p>
        This link signs you in as <strong>{mailed.email}</strong>. Go on only if that is you.
      </p>
      <button
        type="button"
        className="button primary"
        disabled={busy}
        onClick={() => void enter({ mailCode: mailed.mailCode })}
      >
        Sign in as {mailed.email}
      </button>
    </>
  )
}

/** Takes the code of a one-time link from the fragment, or what a form presents. */
function useSignIn() {
  const { next } = useSearch({ from: '/sign-in' })
  const navigate = useNavigate()
  const router = useRouter()
  const [mailed, setMailed] = useState<Mailed | null>(null)
  const [error, setError] = useState<AppError | null>(null)
  const [busy, setBusy] = useState(false)
  const queries = useQueryClient()
  const spent = useRef<string | null>(null)

  const href = insideConsole(next, router.origin ?? location.origin)

  const enter = async (by: Presented) => {
    setBusy(true)
    setError(null)
    try {
      // The code of the next page arrives during the sign-in, and the first data of every page with its answer.
      void router.preloadRoute({ href } as unknown as Parameters<typeof router.preloadRoute>[0])
      await signIn(by, () => readAhead(queries, href))
      await navigate({ href, replace: true })
    } catch (refusal) {
      setError(refusal as AppError)
      setBusy(false)
    }
  }
  const preview = async (mailCode: string) => {
    try {
      const { email } = (await sessionRequest('POST', '/console/mailed-link', { mailCode })) as Mailed
      setMailed({ mailCode, email })
    } catch (refusal) {
      setError(refusal as AppError)
    }
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: each code is used once, when it arrives
  useEffect(() => {
    const take = () => {
      const code = location.hash.slice(1)
      if (code === '' || spent.current === code) return
      spent.current = code
      // Remove the code from the address bar and the history first.
      history.replaceState(history.state, '', location.pathname + location.search)
      if (code.startsWith('mail.')) void preview(code.slice('mail.'.length))
      else void enter({ code })
    }
    take()
    // A new link that is pasted into this tab changes only the fragment.
    window.addEventListener('hashchange', take)
    return () => window.removeEventListener('hashchange', take)
  }, [])

  useEffect(
    () =>
      onOtherTabSignedIn(
        () => readAhead(queries, href),
        () => void navigate({ href, replace: true }),
      ),
    [href, navigate, queries],
  )
  return { mailed, error, setError, busy, enter }
}

/** Reads the first data of every page, then the overview. Resolves to the id of the user. */
async function readAhead(queries: QueryClient, href: string): Promise<string | undefined> {
  // What another person has read in this tab, such as who they are.
  queries.clear()
  const user = prefetch(queries, getUser, {})
  const [first] = (await prefetch(queries, listAccounts, {}))?.accounts ?? []
  if (first && href === overviewPath) void prefetch(queries, listAppEnvs, firstOf(first.accountId))
  return (await user)?.userId
}
