import { Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { listApprovals } from '../../contract/approvals.ts'
import { getUser } from '../../contract/users.ts'
import { connection } from '../api/connection.ts'
import { drafts } from '../api/drafts.ts'
import { everyMs, useRead } from '../api/queries.ts'
import { signOut } from '../api/session.ts'
import { Empty, Failed, Loading, NotFound } from '../components/states.tsx'
import { Toasts } from '../components/toasts.tsx'
import { timeOfDay, whole } from '../components/words.ts'
import { untilLoaded } from '../until-loaded.ts'
import { type Account, AccountProvider, useAccounts } from './account.ts'
import { InvitationsHint } from './InvitationsHint.tsx'
import { PauseAgents, PausedBanner } from './StopSwitch.tsx'
import { applyTheme, readTheme, type Theme } from './theme.ts'

const Invitations = lazy(() =>
  untilLoaded(() => import('../pages/invitations/Invitations.tsx')).then((module) => ({
    default: module.Invitations,
  })),
)

/** Navigation, account, and the states that concern every page. */
export function Frame() {
  const { query, all, chosen } = useAccounts()
  useFocusOnNavigation()
  return (
    <>
      <a className="skip" href="#content">
        Skip to content
      </a>
      <div className="frame">
        <Side accounts={all} chosen={chosen} />
        <div>
          <ConnectionBanner />
          {chosen && (
            <AccountProvider value={chosen}>
              <PausedBanner />
            </AccountProvider>
          )}
          <main className="main" id="content" tabIndex={-1}>
            {query.isPending && <Loading />}
            {query.error && !query.data && <Failed error={query.error} retry={() => query.refetch()} />}
            {query.data && all.length === 0 && (
              <>
                <Empty title="You are not a member of any account">
                  Ask an admin to add you as a member.
                </Empty>
                <Suspense fallback={<Loading rows={2} />}>
                  <Invitations />
                </Suspense>
              </>
            )}
            {query.data && all.length > 0 && !chosen && <NotFound />}
            {chosen && (
              <AccountProvider value={chosen}>
                <Outlet />
              </AccountProvider>
            )}
          </main>
        </div>
      </div>
      <Toasts />
    </>
  )
}

/** Moves focus to the content after navigation, for keyboard and screen reader users. */
function useFocusOnNavigation(): void {
  const path = useRouterState({ select: (state) => state.resolvedLocation?.pathname })
  const first = useRef(true)
  useEffect(() => {
    if (!first.current) document.getElementById('content')?.focus({ preventScroll: true })
    if (path !== undefined) first.current = false
  }, [path])
}

function Side({ accounts, chosen }: { accounts: readonly Account[]; chosen: Account | undefined }) {
  const navigate = useNavigate()
  const isOperator = useRead(getUser, {}).data?.operator ?? false
  return (
    <header className="side">
      <Link to="/" className="brand" search={keepAccount}>
        <Logo />
        Longshore
      </Link>
      {accounts.length > 1 && (
        <select
          aria-label="Account"
          value={chosen?.accountId ?? ''}
          onChange={(event) => navigate({ to: '/', search: { account: event.target.value } })}
        >
          {accounts.map((account) => (
            <option key={account.accountId} value={account.accountId}>
              {account.name}
            </option>
          ))}
        </select>
      )}
      <nav aria-label="Main">
        <ul>
          <li>
            <Link to="/" search={keepAccount} activeOptions={{ exact: true, includeSearch: false }}>
              Environments
            </Link>
          </li>
          <li>
            <Link to="/alerts" search={keepAccount} activeOptions={{ includeSearch: false }}>
              Alerts
            </Link>
          </li>
          {chosen && (
            <li>
              <ApprovalsLink accountId={chosen.accountId} />
            </li>
          )}
          <li>
            <Link to="/contact-points" search={keepAccount} activeOptions={{ includeSearch: false }}>
              Contact points
            </Link>
          </li>
          <li>
            <Link to="/activity" search={keepAccount} activeOptions={{ includeSearch: false }}>
              Activity
            </Link>
          </li>
          {morePages
            .filter(({ to }) => to !== '/system' || isOperator)
            .map(({ to, label }) => (
              <li key={to}>
                <Link to={to} search={keepAccount} activeOptions={{ includeSearch: false }}>
                  {label}
                </Link>
              </li>
            ))}
        </ul>
      </nav>
      <InvitationsHint />
      {chosen && (
        <AccountProvider value={chosen}>
          <PauseAgents />
        </AccountProvider>
      )}
      <Foot />
    </header>
  )
}

/** With the number of those that wait for a decision. */
function ApprovalsLink({ accountId }: { accountId: string }) {
  const input = { accountId, status: 'pending', limit: 1 } as const
  const pending = useRead(listApprovals, input, { everyMs: everyMs.chart }).data?.pending ?? 0
  return (
    <Link to="/approvals" search={keepAccount} activeOptions={{ includeSearch: false }}>
      Approvals
      {pending > 0 && (
        <span className="count">
          {whole(pending)}
          <span className="hidden-text"> waiting</span>
        </span>
      )}
    </Link>
  )
}

const morePages = [
  { to: '/agents', label: 'Agents' },
  { to: '/policy', label: 'Policy' },
  { to: '/members', label: 'Members' },
  { to: '/tokens', label: 'Tokens' },
  { to: '/passkeys', label: 'Passkeys and sessions' },
  { to: '/settings', label: 'Account settings' },
  { to: '/system', label: 'System' },
  { to: '/start', label: 'Get started' },
] as const

/** Navigation keeps the account but not the filters of a page. */
const keepAccount = (search: { account?: string }) => ({ account: search.account })

function Foot() {
  const user = useRead(getUser, {})
  const [theme, setTheme] = useState(readTheme)
  const userId = user.data?.userId
  useEffect(() => {
    if (userId !== undefined) drafts.belongTo(userId)
  }, [userId])
  const leave = async (everywhere: boolean) => {
    await signOut(everywhere)
    // Load a fresh page, so that no read data stays in memory.
    location.assign('/console/sign-in')
  }
  return (
    <div className="foot">
      <select
        aria-label="Theme"
        value={theme}
        onChange={(event) => {
          const next = event.target.value as Theme
          setTheme(next)
          applyTheme(next)
        }}
      >
        <option value="system">System theme</option>
        <option value="light">Light theme</option>
        <option value="dark">Dark theme</option>
      </select>
      <span className="muted small">{user.data ? `Signed in as ${user.data.name}` : ' '}</span>
      <div className="row">
        <button type="button" className="button compact" onClick={() => leave(false)}>
          Sign out
        </button>
        <button type="button" className="button quiet compact" onClick={() => leave(true)}>
          Sign out everywhere
        </button>
      </div>
    </div>
  )
}

function ConnectionBanner() {
  const lostSince = useSyncExternalStore(connection.subscribe, connection.lostSince)
  if (!lostSince) return null
  return (
    <div className="banner" role="alert">
      <strong>Connection lost.</strong>
      <span>This page shows data from {timeOfDay(lostSince.toISOString())}. Reconnecting.</span>
    </div>
  )
}

export function Logo() {
  return (
    <svg width="22" height="22" viewBox="0 0 16 16" aria-hidden="true">
      <rect width="16" height="16" rx="4" fill="#0f4c81" />
      <path d="M5 3.5v9h6.5" fill="none" stroke="#fff" strokeWidth="2.2" />
    </svg>
  )
}
