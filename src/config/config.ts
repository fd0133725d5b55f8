import os from 'node:os'
import path from 'node:path'
import { z } from 'zod'
import type { PolicyContent } from '../contract/policy.ts'
import { AppError } from '../errors.ts'
import { Secret } from '../log.ts'
import { isServiceAddress, serviceAddressHint } from '../loopback.ts'
import { acmeOf, acmeSettings, type CertificateSettings } from './acme.ts'
import { readConfigFile } from './file.ts'
import { flag } from './flag.ts'
import { type AddressSettings, addressesOf, gatewaySettings, port } from './gateway.ts'
import { type OAuthSetting, oauthOf, oauthSettings } from './oauth.ts'
import { type OidcSettings, oidcOf, oidcSettings } from './oidc.ts'
import { type RegionSetting, regionsOf } from './regions.ts'
import { settingNamesIn, unknownSettings } from './unknown-settings.ts'

/** A user token (docs/interface.md#tokens); the length varies, for other encoders drop leading zeros. */
const userTokenPattern = /^lsu_[0-9A-Za-z]{40,64}$/

const httpAddress = z.url({ protocol: /^https?$/, error: 'must be an http or https address' })

const settings = {
  LONGSHORE_HOME: z.string().min(1).default('.longshore'),
  LONGSHORE_HOST: z.string().min(1).max(253).default('127.0.0.1'),
  LONGSHORE_PORT: port.default(4400),
  ...gatewaySettings,
  ...acmeSettings,
  LONGSHORE_ENGINE: z
    .enum(['auto', 'process', 'docker', 'kubernetes'], {
      error: 'must be auto, process, docker or kubernetes',
    })
    .default('auto'),
  LONGSHORE_REGIONS: z
    .string()
    .regex(
      /^none$|^[a-z0-9][a-z0-9-]{0,30}=(?:auto|process|docker|kubernetes)(?:,[a-z0-9][a-z0-9-]{0,30}=(?:auto|process|docker|kubernetes))*$/,
      'must be regions with their engines, such as local=process,box=docker, or none',
    )
    .optional(),
  LONGSHORE_CONFIG: z.string().min(1).optional(),
  LONGSHORE_GIT_BASE_URL: z.url().refine(isServiceAddress, serviceAddressHint).default('https://github.com'),
  LONGSHORE_NODE_IMAGE: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,255}$/, 'must be a container image with node and npm')
    .default('node:22-alpine'),
  LONGSHORE_DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/, error: 'must be postgres://user:password@host:5432/database' })
    .optional(),
  LONGSHORE_DATABASE_POOL: z.coerce
    .number({ error: 'must be a number from 1 to 200' })
    .int('must be a whole number')
    .min(1, 'must be a number from 1 to 200')
    .max(200, 'must be a number from 1 to 200')
    .default(10),
  LONGSHORE_NODE: z
    .string()
    .regex(
      /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/,
      'must be the name of this machine, such as its host name: letters, digits, dots and hyphens',
    )
    .optional(),
  LONGSHORE_FILES_URL: z
    .url({
      protocol: /^(?:file|s3)$/,
      hostname: /^.*$/,
      error: 'must be file:///path or s3://bucket/prefix?endpoint=URL&region=R',
    })
    .optional(),
  LONGSHORE_DATABASE_IMAGES: z
    .string()
    .regex(
      /^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*$/,
      'must be a registry, with a path if need be, such as mirror.example.com/databases',
    )
    .optional(),
  LONGSHORE_BOOTSTRAP_TOKEN: z
    .string()
    .regex(userTokenPattern, 'must be a user token: lsu_ and 49 letters and digits')
    .optional(),
  LONGSHORE_MASTER_KEY: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$|^[A-Za-z0-9+/_-]{43}=?$/, 'must be 32 bytes as 64 hex digits or base64')
    .optional(),
  LONGSHORE_URL: httpAddress.optional(),
  LONGSHORE_PUBLIC_URL: httpAddress
    .regex(/^[^?#@]+$/, 'must be an address without user, query or fragment')
    .optional(),
  ...{ ...oauthSettings, ...oidcSettings },
  LONGSHORE_TOKEN: z.string().min(1).optional(),
  LONGSHORE_SMTP_URL: z.url({ protocol: /^smtps?$/, error: 'must be an smtp or smtps address' }).optional(),
  // The public Events API v2.
  LONGSHORE_INCIDENT_URL: httpAddress.default('https://events.pagerduty.com/v2/enqueue'),
  LONGSHORE_SLACK_API_URL: httpAddress.default('https://slack.com/api'),
  LONGSHORE_ALLOW_PRIVATE_WEBHOOKS: flag.default(false),
  LONGSHORE_ALLOW_HOST_ACCESS: flag.default(false),
  LONGSHORE_RATE_LIMITS: z
    .string()
    .regex(
      /^(?:off|writes=[1-9]\d{0,5},reads=[1-9]\d{0,5})$/,
      'must be requests a second for one caller, such as writes=50,reads=500, or off',
    )
    .default('writes=50,reads=500'),
  LONGSHORE_REQUEST_LOG: z
    .enum(['on', 'off', 'with-query'], { error: 'must be on, off or with-query' })
    .default('on'),
  LONGSHORE_KEPT_VERSIONS: z.coerce
    .number({ error: 'must be a number from 1 to 1000' })
    .int('must be a whole number')
    .min(1, 'must be a number from 1 to 1000')
    .max(1000, 'must be a number from 1 to 1000')
    .default(10),
  LONGSHORE_COPY_LIMITS: z
    .string()
    .regex(
      /^gigabytes=[1-9]\d{0,5},minutes=[1-9]\d{0,4}$/,
      'must be the most that a backup or restore may have and take, such as gigabytes=256,minutes=120',
    )
    .default('gigabytes=256,minutes=120'),
  LONGSHORE_CLOCK_SCALE: z.coerce
    .number({ error: 'must be a number from 1 to 10000' })
    .min(1, 'must be a number from 1 to 10000')
    .max(10_000, 'must be a number from 1 to 10000')
    .default(1),
  // The same words as the options of `longshore mcp`, which reads and checks them (mcp/policy/options.ts).
  LONGSHORE_READ_ONLY: z.string().optional(),
  LONGSHORE_NO_DESTRUCTIVE: z.string().optional(),
  LONGSHORE_TOOLS: z.string().optional(),
  LONGSHORE_EXCLUDE_TOOLS: z.string().optional(),
  LONGSHORE_LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'], {
      error: 'must be trace, debug, info, warn, error or silent',
    })
    .default('info'),
}

const allSettings = z
  .object(settings)
  .refine((value) => !value.LONGSHORE_PROXY_PROTOCOL || value.LONGSHORE_TRUSTED_PROXIES.length > 0, {
    path: ['LONGSHORE_PROXY_PROTOCOL'],
    message: 'needs LONGSHORE_TRUSTED_PROXIES: only those peers are believed',
  })
  .refine((value) => value.LONGSHORE_APP_DOMAIN !== value.LONGSHORE_FUNCTION_DOMAIN, {
    path: ['LONGSHORE_FUNCTION_DOMAIN'],
    message: 'must differ from LONGSHORE_APP_DOMAIN',
  })
  .refine(
    (value) => (value.LONGSHORE_TLS_CERTIFICATE === undefined) === (value.LONGSHORE_TLS_KEY === undefined),
    {
      path: ['LONGSHORE_TLS_KEY'],
      message: 'must be set together with LONGSHORE_TLS_CERTIFICATE',
    },
  )

/** All settings, read once and frozen (docs/interface.md#starting-and-configuring). */
export interface Config extends AddressSettings, CertificateSettings, OidcSettings {
  /** Absolute path; all state of the embedded installation. */
  readonly home: string
  readonly host: string
  readonly port: number
  readonly gatewayPort: number
  /** How many processes the gateway has; undefined: as the machine's cores allow. */
  readonly gatewayProcesses: number | undefined
  /** The first is the one the ready line names; empty only where others share the database. */
  readonly regions: readonly RegionSetting[]
  /** Where the repositories of apps with a Git host are: `<base>/<gitNamespace>/<gitRepo>.git`. */
  readonly gitBaseUrl: string
  /** The base image of the Dockerfiles that presets generate; it must contain node and npm. */
  readonly nodeImage: string
  /** `DOCKER_HOST`, the engine's own setting. */
  readonly dockerHost: string | undefined
  /** PostgreSQL; undefined: the embedded store in the data directory. */
  readonly databaseUrl: Secret | undefined
  /** Connections to PostgreSQL. */
  readonly databasePool: number
  /** The name of this machine among those that share the database; its regions belong to it. */
  readonly node: string
  /** Where uploads, backups and kept logs are; undefined: the data directory. */
  readonly filesUrl: string | undefined
  /** Registry and path that hold the database images; undefined: each image's own registry. */
  readonly databaseImages: string | undefined
  readonly bootstrapToken: Secret | undefined
  readonly masterKey: Secret | undefined
  readonly url: string | undefined
  readonly token: Secret | undefined
  /** Address under which people and hosts reach the control plane; undefined: the address of the API. */
  readonly publicUrl: string | undefined
  readonly oauth: OAuthSetting
  readonly smtpUrl: Secret | undefined
  /** An OTLP endpoint is set: traces are exported to it. */
  readonly exportsTraces: boolean
  readonly incidentUrl: string
  /** Without a trailing slash. */
  readonly slackApiUrl: string
  readonly allowPrivateWebhooks: boolean
  /** Leaves instance metadata and services of this machine open to containers on Docker. */
  readonly allowHostAccess: boolean
  /** Requests a second for one caller; null: no such limit. */
  readonly rateLimits: { readonly writes: number; readonly reads: number } | null
  /** Which requests to environments are logged: sampled and without query strings, not at all, or with query strings. */
  readonly requestLog: 'on' | 'off' | 'with-query'
  /** Deployed versions of an environment whose images stay for a rollback. */
  readonly keptVersions: number
  readonly copyLimits: { readonly bytes: number; readonly minutes: number }
  readonly clockScale: number
  /** The policy of the platform, from the file. */
  readonly policy: PolicyContent | null
  readonly logLevel: string
}

/**
 * Reads the environment once. Every problem is reported in one error, and an unknown
 * LONGSHORE_ variable stops the start: a mistyped safety option must not be ignored.
 */
export function readConfig(env: NodeJS.ProcessEnv = process.env, workingDir = process.cwd()): Config {
  const names = settingNamesIn(env)
  const problems = unknownSettings(env, Object.keys(settings))
  const given = names.filter((name) => env[name] !== '')
  const present = Object.fromEntries(given.map((name) => [name, env[name]]))
  const parsed = allSettings.safeParse(present)
  if (!parsed.success) {
    for (const issue of parsed.error.issues) problems.push(`${issue.path.join('.')}: ${issue.message}`)
  }
  const file = parsed.data?.LONGSHORE_CONFIG
    ? readConfigFile(path.resolve(workingDir, parsed.data.LONGSHORE_CONFIG))
    : { value: null, problems: [] }
  problems.push(...file.problems)
  if (problems.length > 0 || !parsed.success) throw unusable(problems)
  const value = parsed.data
  const regions = regionsOf(value, present, file.value, kubeconfigOf(env))
  return Object.freeze({
    home: path.resolve(workingDir, value.LONGSHORE_HOME),
    host: value.LONGSHORE_HOST,
    port: value.LONGSHORE_PORT,
    gatewayPort: value.LONGSHORE_GATEWAY_PORT,
    gatewayProcesses: value.LONGSHORE_GATEWAY_PROCESSES,
    regions,
    ...{ ...addressesOf(value, workingDir), ...acmeOf(value, workingDir) },
    gitBaseUrl: value.LONGSHORE_GIT_BASE_URL.replace(/\/+$/, ''),
    nodeImage: value.LONGSHORE_NODE_IMAGE,
    dockerHost: env.DOCKER_HOST || undefined,
    databaseUrl: secret(value.LONGSHORE_DATABASE_URL),
    databasePool: value.LONGSHORE_DATABASE_POOL,
    node: value.LONGSHORE_NODE ?? os.hostname(),
    filesUrl: value.LONGSHORE_FILES_URL,
    databaseImages: value.LONGSHORE_DATABASE_IMAGES,
    bootstrapToken: secret(value.LONGSHORE_BOOTSTRAP_TOKEN),
    masterKey: secret(value.LONGSHORE_MASTER_KEY),
    url: value.LONGSHORE_URL?.replace(/\/+$/, ''),
    token: secret(value.LONGSHORE_TOKEN),
    publicUrl: value.LONGSHORE_PUBLIC_URL?.replace(/\/+$/, ''),
    ...{ oauth: oauthOf(value), ...oidcOf(value) },
    smtpUrl: secret(value.LONGSHORE_SMTP_URL),
    exportsTraces: Boolean(env.OTEL_EXPORTER_OTLP_ENDPOINT || env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT),
    incidentUrl: value.LONGSHORE_INCIDENT_URL,
    slackApiUrl: value.LONGSHORE_SLACK_API_URL.replace(/\/+$/, ''),
    allowPrivateWebhooks: value.LONGSHORE_ALLOW_PRIVATE_WEBHOOKS,
    allowHostAccess: value.LONGSHORE_ALLOW_HOST_ACCESS,
    rateLimits: ratesOf(value.LONGSHORE_RATE_LIMITS),
    requestLog: value.LONGSHORE_REQUEST_LOG,
    keptVersions: value.LONGSHORE_KEPT_VERSIONS,
    copyLimits: copyLimitsOf(value.LONGSHORE_COPY_LIMITS),
    clockScale: value.LONGSHORE_CLOCK_SCALE,
    policy: file.value?.policy ?? null,
    logLevel: value.LONGSHORE_LOG_LEVEL,
  })
}

/** Throws `invalid` for a variable that is not a setting, also in commands that read no other one. */
export function refuseUnknownSettings(env: NodeJS.ProcessEnv): void {
  const problems = unknownSettings(env, Object.keys(settings))
  if (problems.length > 0) throw unusable(problems)
}

function unusable(problems: readonly string[]): AppError {
  return new AppError('invalid', 'Configuration cannot be used', { details: problems.join('; ') })
}

function secret(value: string | undefined): Secret | undefined {
  return value === undefined ? undefined : new Secret(value)
}

function ratesOf(setting: string): Config['rateLimits'] {
  const [writes, reads] = (setting.match(/\d+/g) ?? []).map(Number)
  return writes === undefined || reads === undefined ? null : { writes, reads }
}

function copyLimitsOf(setting: string): Config['copyLimits'] {
  const [gigabytes = 0, minutes = 0] = (setting.match(/\d+/g) ?? []).map(Number)
  return { bytes: gigabytes * 1e9, minutes }
}

/** Where kubectl would look; undefined in a pod, which has credentials of its own. */
function kubeconfigOf({ KUBECONFIG, KUBERNETES_SERVICE_HOST }: NodeJS.ProcessEnv): string | undefined {
  const first = KUBECONFIG?.split(path.delimiter).find((file) => file !== '')
  return first ?? (KUBERNETES_SERVICE_HOST ? undefined : path.join(os.homedir(), '.kube', 'config'))
}
