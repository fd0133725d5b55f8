import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { counted, readableBytes } from '../../amounts.ts'
import type { Client } from '../../client/client.ts'
import { systemClock } from '../../clock.ts'
import { updateFunctionConfig } from '../../contract/app-env-actions.ts'
import { type AppEnv, getAppEnv } from '../../contract/app-envs.ts'
import { updateApp } from '../../contract/apps.ts'
import {
  deployAppEnvImage,
  notifyCodeUpload,
  redeployAppEnv,
  requestDeployStorageKey,
} from '../../contract/deployments.ts'
import { AppError } from '../../errors.ts'
import { type Cli, type CliCommand, connected, type Done, print } from '../command.ts'
import { exitCodes } from '../command-io.ts'
import { type DryRunAnswer, dryRunLines } from '../dry-run.ts'
import type { Connection } from '../local/installation.ts'
import { createProgress, type Progress, readableDuration } from '../progress.ts'
import { checkSource, type PresetChange } from './check-source.ts'
import { createMissing, type MissingEnvironment, planMissing } from './missing-environment.ts'
import { addDeployOptions, type DeployOptions, deployOptionsOf } from './options.ts'
import { listSource, packSource, type SourceListing } from './pack-source.ts'
import { reportDeployment } from './report.ts'
import { sourceWarnings } from './source-warnings.ts'
import { uploadArchive } from './upload-archive.ts'
import { deploymentLog, type WatchEnd, type Watched, watchDeployment } from './watch.ts'

/** The context of one run of the command. */
interface Run {
  options: DeployOptions
  connection: Connection
  client: Client
  progress: Progress
  cli: Cli
  signal: AbortSignal
  startedMs: number
  /** Set once the platform accepted the deployment; after that an interrupt only stops watching. */
  begun: { contentId: string; version: number } | null
}

/** `longshore deploy`: ends when the version serves (0) or has failed (1); Ctrl-C gives 130. */
export function addDeployCommand(program: CliCommand, cli: Cli, done: Done): void {
  addDeployOptions(
    program
      .command('deploy')
      .summary('deploy a folder or an image, with progress')
      .description(
        'Deploys source with a Dockerfile, or a prebuilt image, and waits until it serves or has failed.',
      ),
  ).runs(cli, done, async ([environment], flags) => {
    const options = deployOptionsOf(environment, flags)
    return deployInterruptibly(options, await connected(cli, options.userToken), cli)
  })
}

async function deployInterruptibly(
  options: DeployOptions,
  { client, ...connection }: Connection & { client: Client },
  cli: Cli,
): Promise<number> {
  const { io } = cli
  const interrupt = new AbortController()
  const stopListening = io.onInterrupt(() => interrupt.abort(new Error('interrupted')))
  const run: Run = {
    options,
    connection,
    client,
    progress: createProgress(io.stderr),
    cli,
    signal: interrupt.signal,
    startedMs: systemClock.monotonicMs(),
    begun: null,
  }
  try {
    return await deploy(run)
  } catch (error) {
    run.progress.close()
    if (!interrupt.signal.aborted) throw error
    sayInterrupted(run)
    return exitCodes.interrupted
  } finally {
    stopListening()
  }
}

function sayInterrupted({ begun, cli }: Run): void {
  const text = begun
    ? `Stopped watching. The deployment of version ${begun.version} continues.`
    : 'Interrupted before the deployment started.'
  cli.io.stderr.write(`${text}\n`)
  if (cli.json) cli.io.stdout.write(`${JSON.stringify({ ok: false, interrupted: true, ...begun })}\n`)
}

async function deploy(run: Run): Promise<number> {
  const { client, options, progress, signal } = run
  progress.stage('Reading the environment')
  const found = await environmentOf(run)
  if ('effect' in found) return previewMissing(run, found)
  const appEnv = found
  const config = options.functionConfig
  // A dry run first, so that invalid settings fail before packing and uploading (E3, X3).
  const settings = config
    ? await client.call(
        updateFunctionConfig,
        { appEnvId: appEnv.appEnvId, ...config },
        { signal, dryRun: true },
      )
    : {}
  if (options.dryRun) return previewDeploy(run, appEnv, settings)
  progress.done(`Environment ${appEnv.cliEnvName}${appEnv.isFunction ? ', a function' : ''}`)
  const { contentId, version } =
    'image' in options.source
      ? await deployImage(run, appEnv, options.source.image)
      : 'dir' in options.source
        ? await deploySource(run, appEnv, options.source.dir)
        : await deployBranch(run, appEnv)
  const begun = { contentId, version }
  run.begun = begun
  const watched: Watched = {
    ...begun,
    client,
    appEnvId: appEnv.appEnvId,
    isJob: appEnv.isJob,
    begins: 'image' in options.source ? 'DEPLOYING' : 'BUILDING',
    progress,
    clock: systemClock,
    signal,
  }
  const end = await watchDeployment(watched)
  if (end.kind === 'failed') await showRuntimeLog(watched, end)
  progress.close()
  return reportDeployment(run, appEnv, begun, end)
}

/** The environment, which is created if it does not exist; for a dry run what would be created. */
async function environmentOf(run: Run): Promise<AppEnv | MissingEnvironment> {
  const { client, options, progress, signal, cli } = run
  try {
    return await client.call(getAppEnv, { ...options.environment }, { signal })
  } catch (error) {
    if (!(error instanceof AppError) || error.kind !== 'not-found') throw error
    const missing = await planMissing(client, options)
    if (!missing) throw error
    if (options.dryRun) return missing
    progress.close()
    const appEnv = await createMissing(client, cli, missing, options, error)
    progress.done(`Created ${appEnv.cliEnvName}`)
    return appEnv
  }
}

function previewMissing({ progress, cli }: Run, { effect }: MissingEnvironment): number {
  progress.close()
  const effects = [`${effect}.`, 'Deploys to it.']
  print(cli, { dryRun: true, effects, changes: [] }, dryRunLines({ effects, changes: [] }))
  return exitCodes.done
}

/** Every check that comes before an upload. */
async function previewDeploy(run: Run, appEnv: AppEnv, settings: unknown): Promise<number> {
  const { client, options, progress, signal, cli } = run
  const { source } = options
  const { appEnvId } = appEnv
  const dryRun = { signal, dryRun: true }
  let deployment: unknown
  if ('image' in source) {
    deployment = await client.call(deployAppEnvImage, { appEnvId, image: source.image }, dryRun)
  } else if ('git' in source) {
    requireGit(appEnv)
    deployment = await client.call(redeployAppEnv, { appEnvId }, dryRun)
  } else {
    const { listing, warnings, preset } = await checkedSource(run, appEnv, source.dir)
    await client.call(requestDeployStorageKey, { appEnvId, fileExtension: '.tgz' }, dryRun)
    const size = `${listing.files.length} files, ${readableBytes(listing.bytes)}`
    deployment = {
      effects: [
        ...(preset ? [`Gives the app the preset ${preset.dockerPreset}, because ${preset.why}.`] : []),
        `Uploads ${size}, builds them, and deploys the result without downtime.`,
        ...warnings,
      ],
    }
  }
  progress.close()
  const parts = [settings, deployment] as DryRunAnswer[]
  const effects = parts.flatMap((part) => part.effects ?? [])
  const changes = parts.flatMap((part) => part.changes ?? [])
  print(cli, { dryRun: true, effects, changes }, dryRunLines({ effects, changes }))
  return exitCodes.done
}

async function deployImage(run: Run, { appEnvId }: AppEnv, image: string) {
  await saveFunctionConfig(run, appEnvId)
  run.progress.stage(`Deploying ${image}`)
  return run.client.call(deployAppEnvImage, { appEnvId, image }, { signal: run.signal })
}

/** The head of the branch, for an app that uses a Git host. */
async function deployBranch(run: Run, appEnv: AppEnv) {
  requireGit(appEnv)
  await saveFunctionConfig(run, appEnv.appEnvId)
  run.progress.stage(`Deploying the branch ${appEnv.gitBranch}`)
  return run.client.call(redeployAppEnv, { appEnvId: appEnv.appEnvId }, { signal: run.signal })
}

function requireGit({ gitBranch }: AppEnv): void {
  if (gitBranch !== 'cli') return
  throw new AppError('invalid', 'The app does not use a Git host', {
    details: 'Deploy a folder with --dir, or create the app with --git-namespace and --git-repo.',
  })
}

async function deploySource(run: Run, appEnv: AppEnv, dir: string) {
  const { client, progress, signal, connection } = run
  const { appEnvId } = appEnv
  const { listing, warnings, preset } = await checkedSource(run, appEnv, dir)
  for (const line of warnings) progress.line(line)
  if (preset) await setPreset(run, preset)
  const folder = await mkdtemp(path.join(os.tmpdir(), 'longshore-deploy-'))
  try {
    const packed = await pack(run, listing, path.join(folder, 'source.tgz'))
    await saveFunctionConfig(run, appEnvId)
    const size = readableBytes(packed.bytes)
    progress.stage(`Uploading ${size}`)
    const startedMs = systemClock.monotonicMs()
    const key = await client.call(requestDeployStorageKey, { appEnvId, fileExtension: '.tgz' }, { signal })
    await uploadArchive({
      ...packed,
      uploadUrl: key.uploadUrl,
      baseUrl: connection.url,
      signal,
      onSent: (sent) =>
        progress.update(`${readableBytes(sent)} (${Math.floor((sent / packed.bytes) * 100)} %)`),
    })
    progress.done(`Uploaded ${size} (100 %) in ${readableDuration(systemClock.monotonicMs() - startedMs)}`)
    return await client.call(notifyCodeUpload, { appEnvId, storageKey: key.storageKey }, { signal })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function checkedSource({ client, progress, signal }: Run, appEnv: AppEnv, dir: string) {
  progress.stage(`Reading ${dir}`)
  const listing = await listSource(dir)
  const warnings = await sourceWarnings(listing)
  return { listing, warnings, preset: await checkSource(client, listing, appEnv, signal) }
}

async function setPreset({ client, progress, signal }: Run, { why, ...change }: PresetChange): Promise<void> {
  await client.call(updateApp, change, { signal })
  progress.done(`There is no Dockerfile, and ${why}: the app now has the preset ${change.dockerPreset}`)
}

async function pack({ progress, signal }: Run, listing: SourceListing, file: string) {
  for (const { path: skipped, why } of listing.skipped) progress.line(`Left out: ${skipped} ${why}.`)
  const total = listing.files.length
  progress.stage(`Packing ${counted(total, 'file')}, ${readableBytes(listing.bytes)}`)
  const packed = await packSource(listing, file, {
    signal,
    onFile: (done) => progress.update(`${done} of ${total}`),
  })
  const rules = listing.ignoreFile ? `, excluding files in ${listing.ignoreFile}` : ''
  progress.done(`Packed ${counted(total, 'file')}, ${readableBytes(listing.bytes)}${rules}`)
  return packed
}

/** Saved as pending: this deployment applies the settings (3.3). */
async function saveFunctionConfig(
  { client, options, progress, signal }: Run,
  appEnvId: string,
): Promise<void> {
  if (!options.functionConfig) return
  await client.call(updateFunctionConfig, { appEnvId, ...options.functionConfig }, { signal })
  progress.done('Saved the function settings; they take effect with this deployment')
}

/** Shows the container's last output. The build log was already shown during the build. */
async function showRuntimeLog(watched: Watched, end: WatchEnd): Promise<void> {
  if (['build step', 'no Dockerfile', 'bad archive'].includes(end.deployment.failure?.reason ?? '')) return
  await deploymentLog(watched, 'RUNTIME', 20).show()
}
