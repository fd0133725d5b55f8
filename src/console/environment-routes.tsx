import { createRoute } from '@tanstack/react-router'
import { jobRunStatuses } from '../contract/jobs.ts'
import { frame, page } from './frame-route.tsx'
import { count, text, timelineSearch } from './search.ts'

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
const remediations = createRoute({
  getParentRoute: () => environment,
  path: '/remediations',
  component: page(() => import('./pages/remediations/RemediationsPage.tsx'), 'RemediationsPage'),
})
const remediation = createRoute({
  getParentRoute: () => environment,
  path: '/remediations/$remediationId',
  component: page(() => import('./pages/remediations/RemediationPage.tsx'), 'RemediationPage'),
})
const settings = createRoute({
  getParentRoute: () => environment,
  path: '/settings',
  component: page(() => import('./pages/environments/SettingsPage.tsx'), 'SettingsPage'),
})

/** The pages of one environment. */
export const environmentRoutes = environment.addChildren([
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
  remediations,
  remediation,
  environmentActivity,
  settings,
])
