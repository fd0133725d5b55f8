import { PassThrough, type Readable } from 'node:stream'
import { type Clock, sleep } from '../../clock.ts'
import { workloadName } from '../../domain/environments/cluster-names.ts'
import { EngineFailure } from '../../engines/engine.ts'
import type { VolumeCopies, VolumeSpec } from '../../engines/volume-copies.ts'
import { AppError } from '../../errors.ts'
import { type ClusterClient, refusalOf } from './client.ts'
import { copyLabel, volumeCopyJob } from './manifests/volume-copy.ts'
import { type ClusterOptions, containerName, label, namespaceOf, volumeClaim } from './manifests/workload.ts'
import { runInPod } from './pod-exec.ts'
import { removeVolumes } from './removal.ts'
import { hasEnded, podProblem, type WorkloadPod } from './status.ts'

interface ClusterVolumesDeps {
  client: ClusterClient
  clock: Clock
  installationId: string
  options: ClusterOptions
}

/** How long a pod may take to start, or to end. */
const patienceMs = 300_000
const pollMs = 500
/** A folder in the volume that holds the files of a restore until all have arrived. */
const staging = '.longshore-restore'

/** At the top of a disk of its own; only root can read or remove it. */
const ownOfDisk = 'lost+found'

/** GNU tar exits with 1 if a file changed during the read. Some tars of BusyBox have neither `--exclude` nor `-p`. */
const dumpScript = `set --
[ ! -d "$DIR/${ownOfDisk}" ] || set -- --exclude ./${ownOfDisk}
tar -cf - "$@" -C "$DIR" .
code=$?
[ $code -eq 0 ] || { [ $code -eq 1 ] && tar --version 2>/dev/null | grep -q 'GNU tar'; }`

/** Files belong to the user of the image (o): a container has no capability to use those of others. */
const loadScript = `set -e
cd "$DIR"
rm -rf ${staging}
mkdir ${staging}
umask 0
tar -xof - -C ${staging} || { code=$?; rm -rf ${staging}; exit $code; }
every() { for at in "$1"* "$1".[!.]* "$1"..?*; do [ -e "$at" ] || [ -L "$at" ] || continue; "$2" "$at"; done; }
drop() { [ "$1" = ./${staging} ] || [ "$1" = ./${ownOfDisk} ] || rm -rf "$1"; }
place() { mv "$1" ./; }
every ./ drop
every ./${staging}/ place
rm -rf ${staging}`

/** Copies volumes by `tar` in a container of the environment's own image, as `kubectl cp` does. */
export class ClusterVolumes implements VolumeCopies {
  readonly #deps: ClusterVolumesDeps

  constructor(deps: ClusterVolumesDeps) {
    this.#deps = deps
  }

  async *dump(spec: VolumeSpec, signal: AbortSignal): AsyncGenerator<Buffer> {
    const output = new PassThrough()
    const work = this.#inDump(spec, signal, output).then(
      () => output.end(),
      (error) => output.destroy(error),
    )
    try {
      yield* output
    } finally {
      output.destroy()
      await work
    }
  }

  async #inDump(spec: VolumeSpec, signal: AbortSignal, output: PassThrough): Promise<void> {
    if (spec.isAtRest) await this.#untilGone(() => this.#podsOfEnvironment(spec), signal)
    const pods = await this.#podsOfEnvironment(spec)
    const run = (pod: WorkloadPod) => this.#run(pod, dumpScript, spec, { output, signal })
    const running = pods.find(isRunning)
    if (running) return await run(running)
    if (pods.some(({ metadata }) => !metadata.deletionTimestamp)) {
      throw new EngineFailure(
        'interrupted',
        'No container of it runs. get-app-env-status says why; stop the environment, or try again.',
      )
    }
    await this.#withPod(spec, signal, run)
  }

  /** The volume does not change until all files of the backup are in it. */
  async load(spec: VolumeSpec, input: Readable, signal: AbortSignal): Promise<void> {
    await this.#untilGone(() => this.#podsOfEnvironment(spec), signal)
    await this.#withPod(spec, signal, (pod) => this.#run(pod, loadScript, spec, { input, signal }))
  }

  async remove({ appEnvId }: VolumeSpec): Promise<void> {
    await removeVolumes(this.#deps, appEnvId)
  }

  async #run(
    { metadata: { namespace, name } }: WorkloadPod,
    script: string,
    { mount }: VolumeSpec,
    streams: { input?: Readable; output?: PassThrough; signal: AbortSignal },
  ): Promise<void> {
    const pod = { namespace, name, container: containerName }
    const failure = await runInPod(this.#deps.client, pod, { script, env: { DIR: mount.path } }, streams)
    if (failure !== null) throw new EngineFailure('interrupted', failureText(failure))
  }

  /** In a new pod each time: in one that a killed control plane left, its script may still run. */
  async #withPod(spec: VolumeSpec, signal: AbortSignal, use: (pod: WorkloadPod) => Promise<void>) {
    const { client, installationId, options } = this.#deps
    const job = volumeCopyJob(spec, installationId, options)
    const { namespace = '', name } = job.metadata
    await this.#requireOwn(spec)
    await client.delete('Job', namespace, name)
    await this.#untilGone(() => this.#pods(copyLabel, spec), signal)
    try {
      await client.apply(job)
      await use(await this.#started(spec, signal))
    } catch (error) {
      const refusal = refusalOf(error)
      if (refusal?.status !== 422 && refusal?.status !== 403) throw error
      throw new EngineFailure('interrupted', `The cluster refuses to copy the volume: ${refusal.reason}`)
    } finally {
      await client.delete('Job', namespace, name)
    }
  }

  /** A deleted environment of the same name may have left its volume, which is removed soon. */
  async #requireOwn({ appEnvId, accountId, envName }: VolumeSpec): Promise<void> {
    const { client, options } = this.#deps
    const claim = volumeClaim(workloadName(envName))
    const found = await client.identify('PersistentVolumeClaim', namespaceOf(options, accountId), claim)
    const owner = found?.labels?.[label.environment] ?? appEnvId
    if (owner !== appEnvId)
      throw new AppError('unavailable', 'The volume of another environment of this name is being removed')
  }

  async #started(spec: VolumeSpec, signal: AbortSignal): Promise<WorkloadPod> {
    let pods: WorkloadPod[] = []
    const found = await this.#until(signal, async () => {
      pods = await this.#pods(copyLabel, spec)
      const ended = pods
        .flatMap(({ status }) => status?.containerStatuses ?? [])
        .find(({ state }) => state?.terminated)
      const problem = podProblem(pods)?.message ?? ended?.state?.terminated?.message
      if (problem !== undefined || ended)
        throw new EngineFailure('interrupted', failureText(problem ?? 'The container ended'))
      return pods.find(isRunning) ?? null
    })
    if (found) return found
    const reason = pods[0]?.status?.conditions?.find((one) => one.status === 'False')?.message
    throw new EngineFailure(
      'interrupted',
      `The container that copies the volume does not start${reason ? `: ${reason}` : ''}. Try again.`,
    )
  }

  async #untilGone(list: () => Promise<WorkloadPod[]>, signal: AbortSignal): Promise<void> {
    const isGone = await this.#until(signal, async () => (await list()).length === 0 || null)
    if (!isGone) throw new AppError('unavailable', 'A container that uses the volume does not end')
  }

  /** Null after the time for it. */
  async #until<T>(signal: AbortSignal, probe: () => Promise<T | null>): Promise<T | null> {
    const { clock } = this.#deps
    for (const endMs = clock.monotonicMs() + patienceMs; clock.monotonicMs() < endMs; ) {
      const value = await probe()
      if (value !== null) return value
      await sleep(clock, pollMs, signal)
      signal.throwIfAborted()
    }
    return null
  }

  /** Without one that has ended, as by an eviction: its object stays, and uses no volume. */
  async #podsOfEnvironment(spec: VolumeSpec): Promise<WorkloadPod[]> {
    return (await this.#pods(label.environment, spec)).filter((pod) => !hasEnded(pod))
  }

  #pods(by: string, { appEnvId }: VolumeSpec): Promise<WorkloadPod[]> {
    const { client, installationId } = this.#deps
    return client.list('Pod', `${label.installation}=${installationId},${by}=${appEnvId}`)
  }
}

function isRunning({ metadata, status }: WorkloadPod): boolean {
  return !metadata.deletionTimestamp && !!status?.containerStatuses?.some(({ state }) => state?.running)
}

/** Limit for output of an image's programs, which is the tenant's text. */
const mostQuoted = 300

function failureText(given: string): string {
  const reason = given.slice(0, mostQuoted)
  const isMissing = /\b(?:tar|sh|sleep)\b.*(?:not found|no such file)/i.test(reason)
  const remedy = isMissing
    ? 'A cluster region copies a volume with sh and tar of the image of its environment: deploy an image that has both.'
    : 'Try again; what a running environment changes meanwhile is one reason, so stop it first.'
  return `The volume could not be copied: ${reason.trim().replace(/\.?$/, '.')} ${remedy}`
}
