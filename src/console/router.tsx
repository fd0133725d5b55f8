import { createRoute, createRouter } from '@tanstack/react-router'
import { alertStates } from '../contract/alerts.ts'
import { approvalStatuses } from '../contract/approvals.ts'
import { Broken, NotFound } from './components/states.tsx'
import { environmentRoutes } from './environment-routes.tsx'
import { frame, page, root } from './frame-route.tsx'
import { OverviewPage } from './pages/overview/OverviewPage.tsx'
import { SignInPage } from './pages/sign-in/SignInPage.tsx'
import { count, longText, text, timelineSearch } from './search.ts'

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: (search): { next?: string } => ({ next: longText(search.next) }),
  component: SignInPage,
})

/** Outside the frame, which has no part in the decision. */
const authorize = createRoute({
  getParentRoute: () => root,
  path: '/authorize',
  validateSearch: (search): { request?: string } => ({ request: longText(search.request) }),
  component: page(() => import('./pages/authorize/AuthorizePage.tsx'), 'AuthorizePage'),
})

const overview = createRoute({
  getParentRoute: () => frame,
  path: '/',
  validateSearch: (search): { find?: string; status?: string } => ({
    find: text(search.find),
    status: text(search.status),
  }),
  component: OverviewPage,
})

const activity = createRoute({
  getParentRoute: () => frame,
  path: '/activity',
  validateSearch: timelineSearch,
  component: page(() => import('./pages/activity/ActivityPage.tsx'), 'ActivityPage'),
})

const alerts = createRoute({
  getParentRoute: () => frame,
  path: '/alerts',
  validateSearch: (search): { state?: (typeof alertStates)[number]; from?: number } => ({
    state: alertStates.find((one) => one === search.state),
    from: count(search.from),
  }),
  component: page(() => import('./pages/alerts/AlertsPage.tsx'), 'AlertsPage'),
})
const approvals = createRoute({
  getParentRoute: () => frame,
  path: '/approvals',
  validateSearch: (search): { status?: (typeof approvalStatuses)[number]; from?: number } => ({
    status: approvalStatuses.find((one) => one === search.status),
    from: count(search.from),
  }),
  component: page(() => import('./pages/approvals/ApprovalsPage.tsx'), 'ApprovalsPage'),
})
const approval = createRoute({
  getParentRoute: () => frame,
  path: '/approvals/$approvalId',
  component: page(() => import('./pages/approvals/ApprovalPage.tsx'), 'ApprovalPage'),
})
const policy = createRoute({
  getParentRoute: () => frame,
  path: '/policy',
  component: page(() => import('./pages/policy/PolicyPage.tsx'), 'PolicyPage'),
})
const contactPoints = createRoute({
  getParentRoute: () => frame,
  path: '/contact-points',
  component: page(() => import('./pages/contact-points/ContactPointsPage.tsx'), 'ContactPointsPage'),
})

const start = createRoute({
  getParentRoute: () => frame,
  path: '/start',
  component: page(() => import('./pages/start/StartPage.tsx'), 'StartPage'),
})
const agents = createRoute({
  getParentRoute: () => frame,
  path: '/agents',
  component: page(() => import('./pages/agents/AgentsPage.tsx'), 'AgentsPage'),
})
const agent = createRoute({
  getParentRoute: () => frame,
  path: '/agents/$principalId',
  validateSearch: timelineSearch,
  component: page(() => import('./pages/agents/AgentPage.tsx'), 'AgentPage'),
})
const agentSession = createRoute({
  getParentRoute: () => frame,
  path: '/sessions/$sessionId',
  validateSearch: timelineSearch,
  component: page(() => import('./pages/agents/SessionPage.tsx'), 'SessionPage'),
})
const token = createRoute({
  getParentRoute: () => frame,
  path: '/tokens/$tokenId',
  validateSearch: timelineSearch,
  component: page(() => import('./pages/agents/TokenPage.tsx'), 'TokenPage'),
})
const members = createRoute({
  getParentRoute: () => frame,
  path: '/members',
  validateSearch: (search): { find?: string; explain?: string } => ({
    find: text(search.find),
    explain: text(search.explain),
  }),
  component: page(() => import('./pages/members/MembersPage.tsx'), 'MembersPage'),
})
const tokens = createRoute({
  getParentRoute: () => frame,
  path: '/tokens',
  component: page(() => import('./pages/tokens/TokensPage.tsx'), 'TokensPage'),
})
const passkeys = createRoute({
  getParentRoute: () => frame,
  path: '/passkeys',
  component: page(() => import('./pages/passkeys/PasskeysPage.tsx'), 'PasskeysPage'),
})
const chat = createRoute({
  getParentRoute: () => frame,
  path: '/chat',
  validateSearch: (search): { code?: string } => ({ code: text(search.code) }),
  component: page(() => import('./pages/chat/ChatPage.tsx'), 'ChatPage'),
})
const accountSettings = createRoute({
  getParentRoute: () => frame,
  path: '/settings',
  component: page(() => import('./pages/account/AccountPage.tsx'), 'AccountPage'),
})
const system = createRoute({
  getParentRoute: () => frame,
  path: '/system',
  component: page(() => import('./pages/system/SystemPage.tsx'), 'SystemPage'),
})

const routeTree = root.addChildren([
  signIn,
  authorize,
  frame.addChildren([
    overview,
    activity,
    alerts,
    approvals,
    approval,
    policy,
    contactPoints,
    start,
    agents,
    agent,
    agentSession,
    members,
    tokens,
    token,
    passkeys,
    accountSettings,
    chat,
    system,
    environmentRoutes,
  ]),
])

export function createConsoleRouter() {
  return createRouter({
    routeTree,
    basepath: '/console',
    defaultNotFoundComponent: NotFound,
    defaultErrorComponent: Broken,
    defaultPreload: 'intent',
    scrollRestoration: true,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>
  }
}
