import type { Notifier } from '../../src/alerting/notifiers/notifier.ts'
import type { Clock } from '../../src/clock.ts'
import type { OidcSetting } from '../../src/config/oidc.ts'
import type { PolicyContent } from '../../src/contract/policy.ts'
import type { Engine } from '../../src/engines/engine.ts'
import type { Log } from '../../src/log.ts'
import type { ToolPolicy } from '../../src/mcp/policy/tool-policy.ts'
import type { MetricValues } from '../../src/metrics/source.ts'
import type { FetchDocument } from '../../src/oauth/clients.ts'
import type { RateLimits } from '../../src/operations/core/rate-limit.ts'
import type { Db } from '../../src/store/db.ts'
import type { FakeEngine } from '../fakes/engine.ts'

interface TestOAuthOptions {
  /** The external authorization server; default: the embedded one. */
  issuer?: string
  publicUrl?: string
  /** Reads identity documents of clients; default: none can be reached. */
  fetchDocument?: FetchDocument
  toolPolicy?: Partial<ToolPolicy>
}

export interface TestPlatformOptions {
  clock?: Clock
  engine?: FakeEngine
  log?: Log
  /** False runs no reconciler, so no container starts. */
  reconciles?: boolean
  /** Metric source of alerts; default: the platform's own samples. */
  metrics?: MetricValues
  /** Rate limits of principals; default: no limits. */
  rateLimits?: RateLimits
  /** Address of a gateway, for probes. */
  ingress?: { host: string; port: number }
  /** Mails tokens of new users; without it they are returned. */
  smtpUrl?: string
  /** Delivery of notifications; default: real delivery, also to local receivers. */
  notifier?: Notifier
  /** Where people reach the platform; default: its API. */
  publicUrl?: string
  /** The API of Slack; default: none answers. */
  slackApiUrl?: string
  /** False: addresses of tenants must be public, as in an installation. */
  allowPrivate?: boolean
  /** Sign-in of people by OpenID Connect; default: off. */
  oidc?: OidcSetting
  /** The admin's token is that of the data directory. */
  hasAdminToken?: boolean
  /** As with a DNS hook: operations accept dns-01. */
  setsTxtRecords?: boolean
  clockScale?: number
  /** Policy of the platform. */
  policy?: PolicyContent
  /** Divides the stability window of deployments; default: there is none. */
  stabilityScale?: number
  /** Deployed versions whose images stay (LONGSHORE_KEPT_VERSIONS). */
  keptVersions?: number
  /** Base image of the Dockerfiles that presets generate. */
  nodeImage?: string
  /** Folder with the built console; without one it is not served. */
  consoleDir?: string
  /** Serves /mcp, with sign-in of agents. */
  oauth?: TestOAuthOptions
  /** By region, in place of the fake ones. */
  engines?: ReadonlyMap<string, Engine>
  /** Replaces the platform's store. */
  wrapDb?: (db: Db) => Db
  /** True starts evaluator and outbox; else a test calls `alerting.evaluator.cycle()`. */
  alerts?: boolean
}

/** The ways to sign in that the options turn on. Tests send the mails themselves. */
export function signInOptionsOf({ publicUrl, smtpUrl, oidc = null }: TestPlatformOptions) {
  return { publicUrl, oidc, wakeMail: smtpUrl ? () => {} : null }
}
