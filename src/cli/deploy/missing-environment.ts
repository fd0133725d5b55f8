import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Client } from '../../client/client.ts'
import { type AppEnv, createAppEnv, getAppEnv } from '../../contract/app-envs.ts'
import { listApps } from '../../contract/apps.ts'
import type { DockerPreset } from '../../contract/fields.ts'
import { listRegions } from '../../contract/regions.ts'
import { detectPreset } from '../../domain/apps/detect-preset.ts'
import { AppError } from '../../errors.ts'
import type { Cli } from '../command.ts'
import { createWithApp } from '../create.ts'
import { accountOf } from '../rows/command.ts'
import { factsOf } from './check-source.ts'
import type { DeployOptions } from './options.ts'
import { hasDockerfile, requireDockerfile } from './require-dockerfile.ts'
import { listSource, type SourceListing } from './source-listing.ts'

/** What a deployment to an environment that does not exist creates first. */
export interface MissingEnvironment {
  accountId: string
  region: string
  app:
    | { appId: string; name: string }
    | { name: string; dockerPreset: DockerPreset; port: number; image?: string }
  name: string
  cliEnvName: string
  /** As in "Creates the app shop (EXPRESS, port 3000) with the environment prod in local". */
  effect: string
}

/** `shop-prod` is the environment `prod` of the app `shop`; a name without a hyphen is that of the app. */
export async function planMissing(
  client: Client,
  options: DeployOptions,
): Promise<MissingEnvironment | null> {
  if (!('envName' in options.environment) || 'git' in options.source) return null
  const cliEnvName = options.environment.envName
  const [, appName = cliEnvName, name = 'prod'] = /^(.+)-([^-]+)$/.exec(cliEnvName) ?? []
  const accountId = await accountOf(client, options.create.account)
  const region = options.create.region ?? (await client.call(listRegions, {})).regions[0]?.region ?? ''
  const { apps } = await client.call(listApps, { accountId })
  const known = apps.find((app) => app.slug === appName || app.name === appName)
  const place = `the environment ${name} in region ${region}`
  if (known) {
    const app = { appId: known.appId, name: known.name }
    return { accountId, region, app, name, cliEnvName, effect: `Creates ${place}, of the app ${known.name}` }
  }
  const { why, ...kind } = await kindOf(options)
  const effect = `Creates the app ${appName} (preset ${kind.dockerPreset}${why}, port ${kind.port}) with ${place}`
  return { accountId, region, app: { name: appName, ...kind }, name, cliEnvName, effect }
}

/** Asks first, unless `--yes` was given. */
export async function createMissing(
  client: Client,
  { io }: Cli,
  { accountId, region, app, name, cliEnvName, effect }: MissingEnvironment,
  options: DeployOptions,
  notFound: AppError,
): Promise<AppEnv> {
  if (!options.create.yes) {
    const near = notFound.details?.startsWith('Did you mean') ? `${notFound.details.split('?')[0]}?\n` : ''
    const answer = await io.ask?.(`There is no environment ${cliEnvName}. ${near}${effect}. Continue? [y/N] `)
    if (!/^y(?:es)?$/i.test(answer?.trim() ?? '')) {
      const details = `${notFound.details ?? ''} With --yes it is created.`.trim()
      throw new AppError('not-found', notFound.message, { details, cause: notFound })
    }
  }
  const environment = { accountId, name, region, cliEnvName }
  const appEnvId =
    'appId' in app
      ? (await client.call(createAppEnv, { ...environment, appId: app.appId })).appEnvId
      : (await createWithApp(client, { ...app, accountId }, environment)).appEnvId
  return client.call(getAppEnv, { appEnvId })
}

interface Kind {
  dockerPreset: DockerPreset
  port: number
  image?: string
  /** For the question: why it is this preset. */
  why: string
}

const usualPort = { NEXT_JS: 3000, EXPRESS: 3000, NODE_JS: 3000, STATIC: 8080 } as const

/** The kind of a new app: a function where function settings are given, else what its source needs. */
async function kindOf({ source, functionConfig, create }: DeployOptions): Promise<Kind> {
  const isFunction = functionConfig !== null
  const own = {
    dockerPreset: isFunction ? 'FUNCTION' : 'CUSTOM',
    port: create.port ?? 8080,
    why: '',
  } as const
  if ('image' in source) return { ...own, image: source.image }
  if (!('dir' in source)) return own
  const listing = await listSource(source.dir)
  if (hasDockerfile(listing, 'Dockerfile'))
    return { ...own, port: create.port ?? (await exposedPort(listing)) ?? 8080 }
  const facts = await factsOf(listing, '.')
  const detected = isFunction || listing.ignores('Dockerfile') ? null : detectPreset(facts)
  if (!detected) requireDockerfile(listing, facts, 'Dockerfile', isFunction)
  if (!detected) return own
  const { preset, why } = detected
  return { dockerPreset: preset, port: create.port ?? usualPort[preset], why: `, because ${why}` }
}

async function exposedPort({ root }: SourceListing): Promise<number | null> {
  const text = await readFile(path.join(root, 'Dockerfile'), 'utf8')
  const [, port] = /^\s*EXPOSE\s+(\d{1,5})\b/im.exec(text) ?? []
  return port === undefined ? null : Number(port)
}
