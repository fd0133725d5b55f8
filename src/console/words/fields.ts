/** Names of the interface's fields, the same on every page, by path or by the last part of it. */
interface FieldWords {
  label: string
  unit?: Unit
  /** Ids and bookkeeping, which are of no use to people. */
  isHidden?: boolean
}

type Unit =
  | 'seconds'
  | 'megabytes'
  | 'percent'
  | 'zClouds'
  | 'time'
  | 'environments'
  | 'contactPoints'
  | 'metric'
  | 'state'

const named = (label: string, unit?: Unit): FieldWords => (unit === undefined ? { label } : { label, unit })
const hidden: FieldWords = { label: '', isHidden: true }

/** Last parts whose meaning depends on where they are; the others are below. */
const byPath: Record<string, FieldWords> = {
  'functionConfig.timeoutSeconds': named('Request timeout', 'seconds'),
  'jobConfig.timeoutSeconds': named('Deadline', 'seconds'),
  'healthCheck.timeoutSeconds': named('Health check timeout', 'seconds'),
  'healthCheck.path': named('Health check path'),
  'autoscaling.enabled': named('Autoscaling'),
  'source.type': named('Source'),
  'config.severity': named('Severity'),
}

const byName: Record<string, FieldWords> = {
  // Environments and apps
  name: named('Name'),
  cliEnvName: named('Name in commands and addresses'),
  slug: named('Short name'),
  region: named('Region'),
  status: named('Status', 'state'),
  desiredState: named('Should be', 'state'),
  currentVersion: named('Version'),
  branch: named('Git branch'),
  gitBranch: named('Git branch'),
  gitCommitId: named('Commit'),
  gitNamespace: named('Owner of the repository'),
  gitRepo: named('Repository'),
  contextDir: named('Folder of the source'),
  dockerfilePath: named('Dockerfile'),
  customDockerfileContent: named('Text of the Dockerfile'),
  dockerPreset: named('Preset'),
  dockerPresetVersion: named('Version of the database'),
  image: named('Image'),
  port: named('Port'),
  useImage: named('Deploys an image'),
  zClouds: named('Size of a container', 'zClouds'),
  containers: named('Containers'),
  disk: named('Disk', 'megabytes'),
  useVolume: named('Volume'),
  mountPath: named('Folder of the volume'),
  withPersistence: named('Keeps its data'),
  envVars: named('Variables'),
  healthCheck: named('Health check'),
  expectedStatus: named('Expected status code'),
  intervalSeconds: named('Time between health checks', 'seconds'),
  stabilitySeconds: named('Healthy before it counts as deployed', 'seconds'),
  changingRegion: named('Moves to another region'),
  // Functions
  functionConfig: named('Function settings'),
  minScale: named('Fewest containers'),
  maxScale: named('Most containers'),
  containerConcurrency: named('Requests per container'),
  idleTimeoutSeconds: named('Idle period', 'seconds'),
  responseStartTimeoutSeconds: named('First byte timeout', 'seconds'),
  // Autoscaling
  autoscaling: named('Autoscaling'),
  minContainers: named('Fewest containers'),
  maxContainers: named('Most containers'),
  targetCpuPercent: named('CPU target', 'percent'),
  targetMemoryPercent: named('Memory target', 'percent'),
  scaleUpWindowSeconds: named('Scale up after', 'seconds'),
  scaleDownWindowSeconds: named('Scale down after', 'seconds'),
  // Jobs
  jobConfig: named('Job settings'),
  command: named('Command'),
  args: named('Arguments'),
  shell: named('Shell'),
  workingDir: named('Working directory'),
  backoffLimit: named('Retries'),
  ttlSecondsAfterFinished: named('Container kept for', 'seconds'),
  maxConcurrency: named('Runs at once'),
  allowConcurrentRuns: named('Runs may overlap'),
  // Databases
  databaseSettings: named('Database settings'),
  format: named('Format'),
  sizeBytes: named('Size in bytes'),
  // Account
  zCloudLimit: named('zClouds of the account'),
  functionMaxScale: named('Most containers of a function'),
  functionMaxMinScale: named('Most warm containers of a function'),
  functionDefaultMaxScale: named('Containers of a new function'),
  functionMinIdleTimeoutSeconds: named('Shortest idle period', 'seconds'),
  functionDefaultIdleTimeoutSeconds: named('Idle period of a new function', 'seconds'),
  allowAutoScaling: named('Autoscaling of apps is allowed'),
  functionScaleToZero: named('Functions may scale to zero'),
  memberEnvAccessEnabled: named('Access by environment'),
  reauthenticateSeconds: named('Confirm again who you are after'),
  agentsPaused: named('Agents are paused'),
  labels: named('Labels'),
  protected: named('Protected'),
  // Policy and approvals
  mode: named('Mode'),
  rules: named('Rules'),
  freezes: named('Freezes'),
  budgets: named('Budgets'),
  decisions: named('Decisions'),
  title: named('Title'),
  comment: named('Comment'),
  reviewDigest: hidden,
  replacedBy: hidden,
  // Members and tokens
  email: named('E-mail'),
  admin: named('Admin'),
  manageMembers: named('May manage members'),
  allowedAppEnvIds: named('Environments with access', 'environments'),
  invitation: named('Invitation'),
  readOnly: named('Read-only'),
  expiresAt: named('Expires', 'time'),
  lastUsedAt: named('Last used', 'time'),
  // Alerts and contact points
  description: named('Description'),
  metric: named('Metric', 'metric'),
  operator: named('Fires'),
  threshold: named('Threshold'),
  duration: named('Must hold for'),
  aggregation: named('Aggregation'),
  queryRange: named('Over the last'),
  enabled: named('Switched on'),
  contactPointIds: named('Contact points', 'contactPoints'),
  type: named('Type'),
  url: named('Address'),
  webhookUrl: named('Incoming webhook address'),
  httpMethod: named('Method'),
  username: named('User name'),
  password: named('Password'),
  channel: named('Channel'),
  mentionUsers: named('Mention'),
  addresses: named('Addresses'),
  integrationKey: named('Integration key'),
  severity: named('Severity'),
  failure: named('Failure'),
  refreshed: named('Took new values from its source'),
  isFunction: hidden,
  isDatabase: hidden,
  isJob: hidden,
  isCliDeployment: hidden,
  createdAt: hidden,
  updatedAt: hidden,
  finishedAt: hidden,
  createdBy: hidden,
  wantedRolloutId: hidden,
  currentRolloutId: hidden,
}

/** `applied.functionConfig.maxScale` as "Most containers"; parts that no table has, as separate words. */
export function fieldLabel(path: string): string {
  const parts = path.split('.')
  const [group, name] = parts
  if (group === 'envVars' && name !== undefined) {
    const part = parts.slice(2).join(' ')
    return `Variable ${name}${part === '' || part === 'value' ? '' : `, ${aspectsOfVariable[part] ?? part}`}`
  }
  if (group === 'databaseSettings' && parts.length > 2) return `Parameter ${parts.at(-1)}`
  return wordsOf(path)?.label || spaced(parts.at(-1) ?? path)
}

const aspectsOfVariable: Record<string, string> = { isSecret: 'secret', type: 'used', from: 'source' }

/** Labels for the parts of a variable on its own form. */
export const variableLabels = { name: 'Name', value: 'Value', type: 'Used for', isSecret: 'Secret' } as const

export const fieldUnit = (path: string): Unit | undefined => wordsOf(path)?.unit

/** Whether the field is of no use to people. */
export function isHidden(path: string): boolean {
  const words = wordsOf(path)
  return words ? words.isHidden === true : /Ids?$|^_id$/.test(lastOf(path))
}

/** Whether the name of a field stands in the table; others are left as they are in a sentence. */
export function knownLabel(name: string): string | null {
  return wordsOf(name)?.label || null
}

function wordsOf(path: string): FieldWords | undefined {
  const last = lastOf(path)
  const group = path.split('.').at(-2)
  const inGroup = group === undefined ? undefined : own(byPath, `${group}.${last}`)
  return inGroup ?? own(byName, last)
}

/** Tenants choose some keys, so `constructor` must not be found. */
const own = (table: Record<string, FieldWords>, key: string) =>
  Object.hasOwn(table, key) ? table[key] : undefined

const lastOf = (path: string) => path.slice(path.lastIndexOf('.') + 1)

/** `restoreId` as "Restore id". */
function spaced(name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, (_all, end, start) => `${end} ${start.toLowerCase()}`)
  return words.charAt(0).toUpperCase() + words.slice(1).replaceAll(/[-_]/g, ' ')
}
