import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Client } from '../../client/client.ts'
import type { AppEnv } from '../../contract/app-envs.ts'
import { type App, getApp } from '../../contract/apps.ts'
import { detectPreset } from '../../domain/apps/detect-preset.ts'
import { type SourceFacts, sourceFacts } from '../../domain/apps/source-facts.ts'
import { AppError } from '../../errors.ts'
import { hasDockerfile, requireDockerfile } from './require-dockerfile.ts'
import type { SourceListing } from './source-listing.ts'

export interface PresetChange {
  appId: string
  dockerPreset: NonNullable<ReturnType<typeof detectPreset>>['preset']
  /** As in "No Dockerfile, and package.json depends on express". */
  why: string
  expectedRevision: number
}

/**
 * Checks the source before it is uploaded. Without a Dockerfile, an app of preset CUSTOM needs the preset that fits its
 * source: the change to make first, or null. Throws with an example of a Dockerfile if no preset fits.
 */
export async function checkSource(
  client: Client,
  listing: SourceListing,
  appEnv: AppEnv,
  signal: AbortSignal,
): Promise<PresetChange | null> {
  if (!['CUSTOM', 'FUNCTION', 'JOB'].includes(appEnv.dockerPreset)) return null
  const app = await readApp(client, appEnv.appId, signal)
  if (!app || app.customDockerfileContent) return null
  const context = app.contextDir ?? '.'
  const dockerfile = path.posix.join(context, app.dockerfilePath ?? 'Dockerfile')
  if (hasDockerfile(listing, dockerfile)) return null
  const facts = await factsOf(listing, context)
  const isPlain = appEnv.dockerPreset === 'CUSTOM' && !app.dockerfilePath && !listing.ignores(dockerfile)
  const detected = isPlain ? detectPreset(facts) : null
  if (!detected) requireDockerfile(listing, facts, dockerfile, appEnv.isFunction)
  if (!detected) return null
  const { preset, why } = detected
  return { appId: app.appId, dockerPreset: preset, why, expectedRevision: app.revision }
}

/** Facts about the files to upload, in the context folder. */
export async function factsOf(listing: SourceListing, context: string): Promise<SourceFacts> {
  const files = listing.files
    .map((file) => path.posix.relative(context, file.path))
    .filter((file) => !file.startsWith('../') && file.split('/').length <= 2)
  const text = files.includes('package.json')
    ? await readFile(path.join(listing.root, context, 'package.json'), 'utf8')
    : null
  return sourceFacts(files, text)
}

/** Null for an environment token, which cannot read the app: the platform checks the source itself. */
async function readApp(client: Client, appId: string, signal: AbortSignal): Promise<App | null> {
  try {
    return await client.call(getApp, { appId }, { signal })
  } catch (error) {
    if (error instanceof AppError && error.kind === 'forbidden') return null
    throw error
  }
}
