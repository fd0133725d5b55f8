import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
} from '@tanstack/react-router'
import { alertStates } from '../contract/alerts.ts'
import { jobRunStatuses } from '../contract/jobs.ts'
import { Broken, NotFound } from './components/states.tsx'
import { OverviewPage } from './pages/overview/OverviewPage.tsx'
import { SignInPage } from './pages/sign-in/SignInPage.tsx'
import { count, longText, text, timelineSearch } from './search.ts'
import { Frame } from './shell/Frame.tsx'
import { untilLoaded } from './until-loaded.ts'

/** The pages of sign-in and of the overview come with the first script. Every other one is loaded when it is opened. */
function page<T extends object, Name extends keyof T>(load: () => Promise<T>, name: Name) {
  return lazyRouteComponent<T, Name>(() => untilLoaded(load), name)
}

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound })

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

/** Everything that needs a session. `account` selects one of the reader's accounts; default the first. */
const frame = createRoute({
  getParentRoute: () => root,
  id: 'frame',
  validateSearch: (search): { account?: string } => ({ account: text(search.account) }),
  component: Frame,
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

const environment = createRoute({
  getParentRoute: () => frame,
  path: '/environments/$envName',
  component: page(() => import('./pages/environments/EnvironmentFrame.tsx'), 'EnvironmentFrame'),
})

const summary = createRoute({
  getParentRoute: () => environment,
  path: '/',
  component: page(() => import('./pages/environments/SummaryPage.tsx'), 'SummaryPage'),
})
const deployments = createRoute({
  getParentRoute: () => environment,
  path: '/deployments',
  component: page(() => import('./pages/environments/DeploymentsPage.tsx'), 'DeploymentsPage'),
})
const logs = createRoute({
  getParentRoute: () => environment,
  path: '/logs',
  validateSearch: (search): { type?: string; search?: string; version?: string } => ({
    type: text(search.type),
    search: text(search.search),
    version: text(search.version),
  }),
  component: page(() => import('./pages/environments/LogsPage.tsx'), 'LogsPage'),
})
const versions = createRoute({
  getParentRoute: () => environment,
  path: '/versions',
  validateSearch: (search): { from?: number; to?: number } => ({
    from: count(search.from),
    to: count(search.to),
  }),
  component: page(() => import('./pages/environments/VersionsPage.tsx'), 'VersionsPage'),
})
const runs = createRoute({
  getParentRoute: () => environment,
  path: '/runs',
  validateSearch: (search): { status?: (typeof jobRunStatuses)[number]; from?: number } => ({
    status: jobRunStatuses.find((one) => one === search.status),
    from: count(search.from),
  }),
  component: page(() => import('./pages/jobs/RunsPage.tsx'), 'RunsPage'),
})
const run = createRoute({
  getParentRoute: () => environment,
  path: '/runs/$jobRunId',
  component: page(() => import('./pages/jobs/RunPage.tsx'), 'RunPage'),
})
const jobSettings = createRoute({
  getParentRoute: () => environment,
  path: '/job-settings',
  component: page(() => import('./pages/jobs/JobSettingsPage.tsx'), 'JobSettingsPage'),
})
const variables = createRoute({
  getParentRoute: () => environment,
  path: '/variables',
  component: page(() => import('./pages/environments/VariablesPage.tsx'), 'VariablesPage'),
})
const scaling = createRoute({
  getParentRoute: () => environment,
  path: '/scaling',
  component: page(() => import('./pages/environments/ScalingPage.tsx'), 'ScalingPage'),
})
const database = createRoute({
  getParentRoute: () => environment,
  path: '/database',
  component: page(() => import('./pages/databases/DatabasePage.tsx'), 'DatabasePage'),
})
const backups = createRoute({
  getParentRoute: () => environment,
  path: '/backups',
  component: page(() => import('./pages/databases/BackupsPage.tsx'), 'BackupsPage'),
})
const environmentActivity = createRoute({
  getParentRoute: () => environment,
  path: '/activity',
  validateSearch: timelineSearch,
  component: page(
    () => import('./pages/environments/EnvironmentActivityPage.tsx'),
    'EnvironmentActivityPage',
  ),
})
const environmentAlerts = createRoute({
  getParentRoute: () => environment,
  path: '/alerts',
  component: page(() => import('./pages/alerts/EnvironmentAlertsPage.tsx'), 'EnvironmentAlertsPage'),
})
const newAlert = createRoute({
  getParentRoute: () => environment,
  path: '/alerts/new',
  component: page(() => import('./pages/alerts/NewAlertPage.tsx'), 'NewAlertPage'),
})
const alert = createRoute({
  getParentRoute: () => environment,
  path: '/alerts/$alertId',
  component: page(() => import('./pages/alerts/AlertPage.tsx'), 'AlertPage'),
})
const editAlert = createRoute({
  getParentRoute: () => environment,
  path: '/alerts/$alertId/edit',
  component: page(() => import('./pages/alerts/EditAlertPage.tsx'), 'EditAlertPage'),
})
const settings = createRoute({
  getParentRoute: () => environment,
  path: '/settings',
  component: page(() => import('./pages/environments/SettingsPage.tsx'), 'SettingsPage'),
})

const routeTree = root.addChildren([
  signIn,
  authorize,
  frame.addChildren([
    overview,
    activity,
    alerts,
    contactPoints,
    start,
    agents,
    agent,
    agentSession,
    members,
    tokens,
    token,
    accountSettings,
    system,
    environment.addChildren([
      summary,
      deployments,
      versions,
      runs,
      run,
      jobSettings,
      logs,
      variables,
      scaling,
      database,
      backups,
      environmentAlerts,
      newAlert,
      alert,
      editAlert,
      environmentActivity,
      settings,
    ]),
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
