import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { counted, readableBytes } from '../../amounts.ts'
import type { Client } from '../../client/client.ts'
import { systemClock } from '../../clock.ts'
import { updateFunctionConfig } from '../../contract/app-env-actions.ts'
import { type AppEnv, getAppEnv } from '../../contract/app-envs.ts'
import { getApp } from '../../contract/apps.ts'
import { deployAppEnvImage, notifyCodeUpload, requestDeployStorageKey } from '../../contract/deployments.ts'
import { AppError } from '../../errors.ts'
import { type Cli, type CliCommand, connected, type Done, print } from '../command.ts'
import { exitCodes } from '../command-io.ts'
import { type DryRunAnswer, dryRunLines } from '../dry-run.ts'
import { hostHints } from '../host-hints.ts'
import type { Connection } from '../local/installation.ts'
import { createProgress, type Progress, readableDuration } from '../progress.ts'
import { failureText } from '../rows/words.ts'
import { addDeployOptions, type DeployOptions, deployOptionsOf } from './options.ts'
import { listSource, packSource, type SourceListing } from './pack-source.ts'
import { requireDockerfile } from './require-dockerfile.ts'
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
  const appEnv = await client.call(getAppEnv, { ...options.environment }, { signal })
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
      : await deploySource(run, appEnv, options.source.dir)
  const begun = { contentId, version }
  run.begun = begun
  const watched: Watched = {
    ...begun,
    client,
    appEnvId: appEnv.appEnvId,
    isJob: appEnv.isJob,
    begins: 'dir' in options.source ? 'BUILDING' : 'DEPLOYING',
    progress,
    clock: systemClock,
    signal,
  }
  const end = await watchDeployment(watched)
  if (end.kind === 'failed') await showRuntimeLog(watched, end)
  progress.close()
  return report(run, appEnv, begun, end)
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
  } else {
    const listing = await checkedSource(run, appEnv, source.dir)
    await client.call(requestDeployStorageKey, { appEnvId, fileExtension: '.tgz' }, dryRun)
    const size = `${listing.files.length} files, ${readableBytes(listing.bytes)}`
    deployment = { effects: [`Uploads ${size}, builds them, and deploys the result without downtime.`] }
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

async function deploySource(run: Run, appEnv: AppEnv, dir: string) {
  const { client, progress, signal, connection } = run
  const { appEnvId } = appEnv
  const listing = await checkedSource(run, appEnv, dir)
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

async function checkedSource(run: Run, appEnv: AppEnv, dir: string): Promise<SourceListing> {
  run.progress.stage(`Reading ${dir}`)
  const listing = await listSource(dir)
  const dockerfile = await dockerfileOf(run, appEnv)
  if (dockerfile !== null) requireDockerfile(listing, dockerfile, appEnv.isFunction)
  return listing
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

/** Expected path of the Dockerfile in the source; null when the platform generates it. */
async function dockerfileOf({ client, signal }: Run, appEnv: AppEnv): Promise<string | null> {
  if (!['CUSTOM', 'FUNCTION', 'JOB'].includes(appEnv.dockerPreset)) return null
  try {
    const app = await client.call(getApp, { appId: appEnv.appId }, { signal })
    if (app.customDockerfileContent) return null
    return path.posix.join(app.contextDir ?? '.', app.dockerfilePath ?? 'Dockerfile')
  } catch (error) {
    // An environment token cannot read the app; the platform checks the source itself.
    if (error instanceof AppError && error.kind === 'forbidden') return null
    throw error
  }
}

/** Shows the container's last output. The build log was already shown during the build. */
async function showRuntimeLog(watched: Watched, end: WatchEnd): Promise<void> {
  if (['build step', 'no Dockerfile', 'bad archive'].includes(end.deployment.failure?.reason ?? '')) return
  await deploymentLog(watched, 'RUNTIME', 20).show()
}

function report(
  run: Run,
  appEnv: AppEnv,
  begun: { contentId: string; version: number },
  end: WatchEnd,
): number {
  const { io, json } = run.cli
  const seconds = Math.round(systemClock.monotonicMs() - run.startedMs) / 1000
  const took = readableDuration(seconds * 1000)
  const urls = end.status.hosts.map((host) => host.url)
  const failure =
    end.kind === 'serves'
      ? null
      : end.kind === 'superseded'
        ? {
            reason: 'superseded',
            message: `Version ${end.deployment.version} replaced it before it served.`,
          }
        : (end.deployment.failure ?? { reason: 'unknown', message: 'No reason was recorded.' })
  const name = appEnv.cliEnvName
  if (json) {
    const { contentId, version } = begun
    const facts = { ok: failure === null, appEnvId: appEnv.appEnvId, envName: name, contentId, version }
    const servingVersion = end.status.currentVersion
    io.stdout.write(`${JSON.stringify({ ...facts, servingVersion, urls, seconds, failure })}\n`)
  } else if (failure === null) {
    io.stdout.write(
      `Deployed ${name} version ${begun.version} in ${took}${urls.length > 0 ? `: ${urls.join(' ')}` : ''}\n`,
    )
    const hints = appEnv.isJob ? [runHint(appEnv)] : hostHints(urls, run.connection.url)
    for (const line of hints) io.stderr.write(`${line}\n`)
  } else {
    const { status, currentVersion } = end.status
    const serving =
      currentVersion === null || status === 'STOPPED'
        ? 'No version is serving.'
        : `Version ${currentVersion} still serves.`
    io.stdout.write(`Failed ${name} version ${begun.version} after ${took}: ${failureText(failure, name)}\n`)
    const next = end.kind === 'failed' ? ` longshore why ${name} shows the cause and the next step.` : ''
    io.stderr.write(`${serving}${next}
`)
  }
  return failure === null ? exitCodes.done : exitCodes.failed
}

/** A job takes no command from its image: without one of its own, each run names it. */
function runHint({ cliEnvName, effectiveJobConfig }: AppEnv): string {
  const own = effectiveJobConfig?.command?.value
  return `Start a run: longshore jobs run ${cliEnvName}${own ? '' : ' -- <command>'}`
}
