import { sampleCertificate } from '../api/sample-certificate.ts'
import type { TestPlatform, TestUser } from '../platform/test-platform.ts'

type Input = Record<string, unknown>

/** The objects that exist now, by id, and a choice among them and among values. */
export interface World {
  platform: TestPlatform
  /** A member who is not an admin, for changes of another person. */
  other: TestUser
  environments: { appEnvId: string; appId: string; preset: string }[]
  apps: { appId: string; preset: string }[]
  ids: Record<
    'contact_points' | 'alerts' | 'remediations' | 'backups' | 'job_runs' | 'chat_connections' | 'chat_users',
    string[]
  >
  members: string[]
  /** Users whom nothing else needs. */
  leavers: string[]
  guestEmail: string
  /** One that waits, with the token of the invited user. */
  invitation: { input: Input; token: string } | null
  tokens: string[]
  /** A token that nothing else needs. */
  spareToken: string
  /** That wait for a decision. */
  approvals: { approvalId: string; reviewDigest: string }[]
  domains: { appEnvId: string; domain: string }[]
  /** The code of a link that connects a chat user; null without a connection. */
  chatCode: string | null
  uploads: { uploadId: string; appEnvId: string }[]
  entries: string[]
  count: number
  pick<T>(from: readonly T[]): T | undefined
}

/** The input of a call that may succeed now; null if there is none. */
type MakeInput = (world: World) => Input | { input: Input; token: string } | null

const on =
  (presets: readonly string[], input: (world: World) => Input = () => ({})): MakeInput =>
  (world) => {
    const environment = world.pick(world.environments.filter(({ preset }) => presets.includes(preset)))
    return environment ? { appEnvId: environment.appEnvId, ...input(world) } : null
  }
const named =
  (
    field: string,
    from: (world: World) => readonly string[],
    input: (world: World) => Input = () => ({}),
  ): MakeInput =>
  (world) => {
    const id = world.pick(from(world))
    return id === undefined ? null : { [field]: id, ...input(world) }
  }

const onDomain =
  (input: Input = {}): MakeInput =>
  ({ domains, pick }) => {
    const domain = pick(domains)
    return domain ? { ...domain, ...input } : null
  }

const every = ['CUSTOM', 'FUNCTION', 'JOB', 'POSTGRESQL']
const apps = ['CUSTOM', 'FUNCTION', 'JOB']
const names = ['COLOR', 'SIZE', 'MODE']
const email = (world: World) => `new-${world.count}@example.com`
const alert = (world: World) => ({
  name: 'busy',
  metric: 'cpu_usage',
  operator: 'gt',
  threshold: 80,
  duration: '5m',
  aggregation: 'mean',
  contactPointIds: world.ids.contact_points.slice(0, 1),
})

const ofMember = (input: (world: World) => Input = () => ({})): MakeInput =>
  named(
    'membershipId',
    ({ members }) => members,
    (world) => ({ accountId: world.platform.accountId, ...input(world) }),
  )

/** One call of every write operation. */
export const calls: Record<string, MakeInput> = {
  'create-account': (world) => ({ name: `account ${world.count}` }),
  'update-account': ({ platform, pick }) => ({
    accountId: platform.accountId,
    ...pick([
      { functionScaleToZero: false },
      { functionScaleToZero: true },
      { memberEnvAccessEnabled: true },
      { memberEnvAccessEnabled: false },
      { name: 'Main' },
    ]),
  }),
  'create-app': ({ platform, count, pick }) => {
    const dockerPreset = pick(every)
    const port = dockerPreset === 'CUSTOM' || dockerPreset === 'FUNCTION' ? { port: 8080 } : {}
    const image = dockerPreset === 'CUSTOM' || dockerPreset === 'JOB' ? { useImage: true } : {}
    return { accountId: platform.accountId, name: `app ${count}`, dockerPreset, ...port, ...image }
  },
  'update-app': named(
    'appId',
    (world) => world.apps.filter(({ preset }) => preset === 'CUSTOM').map(({ appId }) => appId),
    ({ pick }) => ({ port: pick([8080, 8081]) }),
  ),
  'delete-app': (world) => {
    const used = new Set(world.environments.map(({ appId }) => appId))
    const appId = world.pick(world.apps.map(({ appId }) => appId).filter((id) => !used.has(id)))
    return appId === undefined ? null : { appId }
  },
  'create-app-env': (world) => {
    const appId = world.pick(world.apps.map(({ appId }) => appId))
    if (appId === undefined || world.environments.length >= 12) return null
    return {
      accountId: world.platform.accountId,
      appId,
      name: `e${world.count}`,
      region: 'local',
      envVars: [{ name: 'COLOR', value: 'red', type: 'DEPLOY' }],
    }
  },
  'update-app-env': on(['CUSTOM', 'POSTGRESQL'], ({ pick }) => ({
    ...pick([
      { zClouds: 1 },
      { zClouds: 2 },
      { name: 'renamed' },
      { name: 'again' },
      { containers: 1 },
      { containers: 2 },
      { zClouds: 2, containers: 3 },
    ]),
  })),
  'delete-app-env': (world) => (world.environments.length < 8 ? null : on(every)(world)),
  'apply-app-env-changes': on(every),
  'discard-app-env-changes': on(every),
  'add-app-env-domain': on(['CUSTOM', 'FUNCTION'], ({ count }) => ({ domain: `d${count}.domains.example` })),
  'verify-app-env-domain': onDomain(),
  'remove-app-env-domain': onDomain(),
  'upload-app-env-certificate': onDomain({ certificate: sampleCertificate }),
  'cancel-deployment': on(every),
  'claim-app-env': on(every, () => ({ intent: 'a repair' })),
  'release-app-env': on(every),
  'stop-app-env': on(every),
  'start-app-env': on(every),
  'restart-app-env': on(every),
  'update-app-env-variables': (world) => {
    const input = on(
      every,
      ({ pick, count }) =>
        pick([
          { set: [{ name: pick(names), value: `v${count % 3}` }] },
          { set: [{ name: pick(names), value: 's', isSecret: true }] },
          { unset: [pick(names)] },
        ])!,
    )(world)
    return input && { input, token: world.pick([world.platform.admin.token, world.other.token])! }
  },
  'request-secret': on(every, () => ({ variable: 'SECRET' })),
  'update-function-config': on(['FUNCTION'], ({ pick }) => ({
    minScale: pick([0, 1, 2]),
    applyImmediately: pick([true, false]),
  })),
  'update-app-env-autoscaling': on(['CUSTOM'], ({ pick }) => ({
    enabled: pick([true, false]),
    minContainers: pick([1, 2]),
    maxContainers: 3,
  })),
  'scale-app-env-containers': on(['CUSTOM'], ({ pick }) => ({ containers: pick([1, 2, 3]) })),
  'create-app-env-backup': on(['POSTGRESQL']),
  'restore-app-env-backup': (world) => {
    const backupId = world.pick(world.ids.backups)
    return backupId === undefined ? null : on(['POSTGRESQL'], () => ({ backupId }))(world)
  },
  'delete-app-env-backup': named('backupId', ({ ids }) => ids.backups),
  'create-alert': on(['CUSTOM'], alert),
  'update-alert': named(
    'alertId',
    ({ ids }) => ids.alerts,
    ({ pick }) => ({ threshold: pick([70, 80]) }),
  ),
  'toggle-alert': named(
    'alertId',
    ({ ids }) => ids.alerts,
    ({ pick }) => ({ enabled: pick([true, false]) }),
  ),
  'refresh-alert': named('alertId', ({ ids }) => ids.alerts),
  'delete-alert': named('alertId', ({ ids }) => ids.alerts),
  'create-remediation': on(['CUSTOM'], () => ({
    name: 'restarts',
    trigger: { cause: 'crash-loop' },
    steps: [{ action: 'restart' }],
  })),
  'update-remediation': named(
    'remediationId',
    ({ ids }) => ids.remediations,
    ({ pick }) => ({ minSamples: pick([2, 3]) }),
  ),
  'toggle-remediation': named(
    'remediationId',
    ({ ids }) => ids.remediations,
    ({ pick }) => ({ mode: pick(['off', 'observe', 'ask']) }),
  ),
  'delete-remediation': named('remediationId', ({ ids }) => ids.remediations),
  'create-contact-point': ({ platform }) => ({
    accountId: platform.accountId,
    name: 'hook',
    type: 'webhook',
    config: { url: 'http://127.0.0.1:9/' },
  }),
  'update-contact-point': named(
    'contactPointId',
    ({ ids }) => ids.contact_points,
    ({ pick }) => ({ name: pick(['hook', 'other hook']) }),
  ),
  'rotate-contact-point-secret': named('contactPointId', ({ ids }) => ids.contact_points),
  'test-contact-point': named('contactPointId', ({ ids }) => ids.contact_points),
  'delete-contact-point': named('contactPointId', ({ ids }) => ids.contact_points),
  'rotate-database-password': on(['POSTGRESQL']),
  'request-deploy-storage-key': on(['CUSTOM'], () => ({ fileExtension: '.tgz' })),
  'notify-code-upload': ({ uploads, pick }) => {
    const upload = pick(uploads)
    return upload ? { appEnvId: upload.appEnvId, storageKey: upload.uploadId } : null
  },
  'deploy-app-env-image': on(apps, ({ count }) => ({ image: `registry.example.com/app:${count}` })),
  'redeploy-app-env': on(every, ({ pick }) => ({
    ...pick([{}, { version: 1 }, { version: 2 }, { settings: 'saved' }]),
  })),
  'probe-function': on(['FUNCTION'], () => ({ requests: 1, concurrency: 1 })),
  'update-job-config': on(['JOB'], ({ pick }) => ({
    command: pick(['echo one', 'echo two']),
    applyImmediately: pick([true, false]),
  })),
  'start-job-run': on(['JOB'], () => ({ command: 'echo hi' })),
  'create-chat-connection': ({ platform, ids }) =>
    ids.chat_connections.length > 3
      ? null
      : {
          accountId: platform.accountId,
          name: 'chat',
          kind: 'slack-http',
          config: { signingSecret: 'x' },
        },
  'update-chat-connection': named(
    'connectionId',
    ({ ids }) => ids.chat_connections,
    ({ count }) => ({ name: `chat ${count}`, config: { signingSecret: `s${count}` } }),
  ),
  'delete-chat-connection': named('connectionId', ({ ids }) => ids.chat_connections),
  'connect-chat-user': ({ chatCode }) => (chatCode === null ? null : { code: chatCode }),
  'remove-chat-user': named(
    'chatUserId',
    ({ ids }) => ids.chat_users,
    ({ platform }) => ({ accountId: platform.accountId }),
  ),
  'cancel-job-run': named('jobRunId', ({ ids }) => ids.job_runs),
  'add-member': (world) => ({
    accountId: world.platform.accountId,
    email: world.pick([email(world), world.guestEmail]),
    name: 'New',
  }),
  'remove-member': (world) => (world.members.length < 3 ? null : ofMember()(world)),
  'update-member-env-access': ofMember(({ environments, pick }) => ({
    allowedAppEnvIds: pick([[], environments.slice(0, 1).map(({ appEnvId }) => appEnvId)]),
  })),
  'accept-invitation': ({ invitation }) => invitation,
  'decline-invitation': ({ invitation }) => invitation,
  'create-user-token': ({ pick }) => ({ name: 'script', readOnly: pick([true, false]) }),
  'rotate-user-token': ({ spareToken }) => ({ input: {}, token: spareToken }),
  'revoke-user-token': named('tokenId', ({ tokens }) => tokens),
  'end-user-sessions': () => ({}),
  'create-user-passkey': () => null,
  'remove-user-passkey': () => null,
  'remove-user': named('userId', ({ leavers }) => leavers),
  'rotate-app-env-token': on(every),
  'update-policy': ({ platform, pick }) => ({
    accountId: platform.accountId,
    mode: 'observe',
    rules: pick([[], [{ id: 'stops', effect: 'deny', on: { operations: ['stop-app-env'] } }]]),
  }),
  'propose-plan': (world) => {
    const input = on(['CUSTOM'], ({ pick }) => ({ zClouds: pick([1, 2]) }))(world)
    const steps = [{ operation: 'update-app-env', input }]
    return input && { accountId: world.platform.accountId, title: `plan ${world.count}`, steps }
  },
  'decide-approval': ({ approvals, pick }) => {
    const approval = pick(approvals)
    return approval ? { ...approval, decision: 'deny' } : null
  },
  'refresh-approval': named('approvalId', ({ approvals }) => approvals.map(({ approvalId }) => approvalId)),
  'withdraw-approval': named('approvalId', ({ approvals }) => approvals.map(({ approvalId }) => approvalId)),
  'undo-change': named('entryId', ({ entries }) => entries),
}
