import { type ResourceFacts, type ScopeLevel, scopeLevels, type ToolScope } from './resource-facts.ts'

/**
 * One row for each object type. `src/operations/core/resources.ts` adds what needs the store: loader and revision
 * (docs/decisions/resource-registry.md).
 */
export const resources = {
  account: {
    noun: 'Account',
    idPrefix: 'acc',
    idFields: ['accountId'],
    listedBy: 'list-accounts',
    auditName: 'account',
    in: 'account',
    key: 'account',
    toolScope: { reads: 'env', writes: 'account' },
  },
  app: {
    noun: 'App',
    idPrefix: 'app',
    idFields: ['appId'],
    listedBy: 'list-apps',
    auditName: 'app',
    in: 'app',
    key: 'app',
    toolScope: { reads: 'env', writes: 'app' },
  },
  environment: {
    noun: 'App environment',
    idPrefix: 'env',
    idFields: ['appEnvId', 'envName'],
    idHint: 'Check appEnvId (env_…) or envName (its cliEnvName, not the name of its app)',
    listedBy: 'list-app-envs',
    auditName: 'app-env',
    in: 'environment',
    key: 'environment',
    toolScope: { reads: 'env', writes: 'env' },
  },
  member: {
    noun: 'Member',
    idPrefix: 'mem',
    idFields: ['membershipId'],
    listedBy: 'list-members',
    auditName: 'membership',
    in: 'account',
    through: 'account',
    key: 'member',
    alwaysNeeds: 'manageMembers',
    toolScope: { reads: 'account', writes: 'account' },
  },
  'contact-point': {
    noun: 'Contact point',
    idPrefix: 'cp',
    idFields: ['contactPointId'],
    listedBy: 'list-contact-points',
    auditName: 'contact-point',
    in: 'account',
    key: 'contactPoint',
    readBy: 'get-contact-point',
    toolScope: { reads: 'env', writes: 'account' },
  },
  alert: {
    noun: 'Alert',
    idPrefix: 'alr',
    idFields: ['alertId'],
    listedBy: 'list-alerts',
    auditName: 'alert',
    in: 'environment',
    key: 'alert',
    readBy: 'get-alert',
    toolScope: { reads: 'env', writes: 'env' },
  },
  'job-run': {
    noun: 'Job run',
    idPrefix: 'run',
    idFields: ['jobRunId'],
    listedBy: 'list-job-runs',
    auditName: 'job-run',
    in: 'environment',
    key: 'jobRun',
    readBy: 'get-job-run',
    toolScope: { reads: 'env', writes: 'env' },
  },
  backup: {
    noun: 'Backup',
    idPrefix: 'bak',
    idFields: ['backupId'],
    listedBy: 'list-app-env-backups',
    auditName: 'backup',
    in: 'environment',
    outlivesEnvironment: true,
    key: 'backup',
    readBy: 'get-app-env-backup',
    toolScope: { reads: 'account', writes: 'account' },
  },
  'audit-entry': {
    noun: 'Audit entry',
    idPrefix: 'aud',
    idFields: ['entryId'],
    listedBy: 'list-audit',
    auditName: 'audit-entry',
    in: 'account',
    key: 'entry',
    alwaysNeeds: 'admin',
    toolScope: { reads: null, writes: null },
  },
  policy: {
    noun: 'Account',
    idPrefix: 'pol',
    idFields: ['accountId'],
    listedBy: 'list-accounts',
    auditName: 'policy',
    in: 'account',
    key: 'policy',
    readBy: 'get-policy',
    toolScope: { reads: 'env', writes: null },
  },
  approval: {
    noun: 'Approval',
    idPrefix: 'apv',
    idFields: ['approvalId'],
    listedBy: 'list-approvals',
    auditName: 'approval',
    in: 'account',
    key: 'approval',
    readBy: 'get-approval',
    toolScope: { reads: 'env', writes: 'env' },
  },
  'chat-connection': {
    noun: 'Chat connection',
    idPrefix: 'cht',
    idFields: ['connectionId'],
    listedBy: 'list-chat-connections',
    auditName: 'chat-connection',
    in: 'account',
    key: 'chatConnection',
    toolScope: { reads: null, writes: null },
  },
  'chat-user': {
    noun: 'Chat user',
    idPrefix: 'chu',
    idFields: ['chatUserId'],
    listedBy: 'list-chat-users',
    auditName: 'chat-user',
    in: 'account',
    through: 'account',
    key: 'chatUser',
    alwaysNeeds: 'manageMembers',
    toolScope: { reads: null, writes: null },
  },
  remediation: {
    noun: 'Remediation',
    idPrefix: 'rem',
    idFields: ['remediationId'],
    listedBy: 'list-remediations',
    auditName: 'remediation',
    in: 'environment',
    key: 'remediation',
    readBy: 'get-remediation',
    toolScope: { reads: 'env', writes: 'env' },
  },
  'remediation-run': {
    noun: 'Remediation run',
    idPrefix: 'rmr',
    idFields: ['runId'],
    listedBy: 'list-remediation-runs',
    auditName: 'remediation-run',
    in: 'environment',
    key: 'remediationRun',
    readBy: 'get-remediation-run',
    toolScope: { reads: 'env', writes: null },
  },
  // New rows go above this line.

  // No policy is on the types below: their operations look them up among the objects of the caller or an environment.
  token: {
    noun: 'Token',
    idPrefix: 'tok',
    idFields: ['tokenId'],
    listedBy: 'list-user-tokens',
    auditName: 'token',
    in: 'environment',
  },
  invitation: {
    noun: 'Invitation',
    idPrefix: 'inv',
    idFields: ['invitationId'],
    listedBy: 'list-invitations',
    auditName: 'membership',
    in: 'account',
  },
  session: {
    noun: 'Session',
    idPrefix: 'ses',
    idFields: ['sessionId'],
    listedBy: 'list-user-sessions',
    auditName: 'session',
    in: 'account',
  },
  passkey: {
    noun: 'Passkey',
    idPrefix: 'pky',
    idFields: ['passkeyId'],
    listedBy: 'list-user-passkeys',
    auditName: 'passkey',
    in: 'account',
  },
  user: {
    noun: 'User',
    idPrefix: 'usr',
    idFields: ['userId'],
    listedBy: 'list-users',
    auditName: 'user',
    in: 'account',
  },
  upload: { noun: 'Upload', idPrefix: 'upl', idFields: [], auditName: 'upload', in: 'environment' },
  'secret-request': {
    noun: 'Secret request',
    idPrefix: 'srq',
    idFields: [],
    auditName: 'secret-request',
    in: 'environment',
  },
  domain: { noun: 'Domain', idPrefix: 'dom', idFields: [], auditName: 'domain', in: 'environment' },
  restore: { noun: 'Restore', idPrefix: 'rst', idFields: [], auditName: 'restore', in: 'environment' },
} as const satisfies Record<string, ResourceFacts>

type Resources = typeof resources
export type ResourceType = keyof Resources
export const resourceTypes = Object.keys(resources) as ResourceType[]
/** Types that a policy can be on. */
export type PolicyType = {
  [T in ResourceType]: Resources[T] extends { key: string } ? T : never
}[ResourceType]
/** Types whose handlers get an environment, so that the token of an environment can be accepted. */
export type EnvironmentType = {
  [T in PolicyType]: Resources[T] extends { outlivesEnvironment: true }
    ? never
    : Resources[T]['in'] extends 'environment'
      ? T
      : never
}[PolicyType]
export type AuditName = Resources[ResourceType]['auditName']
export type ResourceIdPrefix = Resources[ResourceType]['idPrefix']

interface Scope {
  /** Types that the input may name, nearest first. */
  names: readonly ResourceType[]
  toolScope: ToolScope
}

/** Policies that are on no single object that exists. */
const scopes = {
  installation: {
    names: ['token', 'invitation', 'session', 'passkey', 'user'],
    toolScope: { reads: 'env', writes: null },
  },
  'account-or-app': { names: ['app', 'account'], toolScope: { reads: 'env', writes: null } },
  environments: { names: ['environment', 'app', 'account'], toolScope: { reads: 'env', writes: null } },
  // Its answer sums up every environment, so it cannot be limited to less than the account.
  'whole-account': { names: ['account'], toolScope: { reads: 'account', writes: null } },
  'new-environment': { names: ['app'], toolScope: { reads: 'app', writes: 'app' } },
} as const satisfies Record<string, Scope>

type PolicyTarget = keyof typeof scopes | PolicyType

/** Whether a policy can be on this. */
export function isPolicyTarget(on: string): on is PolicyTarget {
  return isScope(on) || (Object.hasOwn(resources, on) && factsOf(on as ResourceType).key !== undefined)
}

/**
 * Whether an operation with a policy on `on` can be limited to one object of `level`. Reads of a wider level that are needed
 * stay, and show only objects inside. An operation on an unknown object cannot be limited.
 */
export function staysWithin(on: string, as: 'reads' | 'writes', level: ScopeLevel): boolean {
  const narrowest = isPolicyTarget(on) ? (isScope(on) ? scopes[on] : resources[on]).toolScope[as] : null
  return narrowest !== null && scopeLevels.indexOf(level) <= scopeLevels.indexOf(narrowest)
}

/** Types that the input of an operation may name, nearest first. */
export function typesNamedBy(on: PolicyTarget): readonly ResourceType[] {
  return isScope(on) ? scopes[on].names : [on]
}

/** The field in which an input names an object of this type. */
export function fieldGiven(type: ResourceType, input: Readonly<Record<string, unknown>>): string | undefined {
  return factsOf(type).idFields.find((field) => input[field] !== undefined)
}

function isScope(on: string): on is keyof typeof scopes {
  return Object.hasOwn(scopes, on)
}

/** A row with every fact that a row can have. */
export function factsOf(type: ResourceType): ResourceFacts {
  return resources[type]
}
