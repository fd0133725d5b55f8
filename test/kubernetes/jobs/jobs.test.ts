import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readBootTime, systemClock } from '../../../src/clock.ts'
import { newId, randomText } from '../../../src/domain/ids.ts'
import type { ContainerSpec, EngineContainer } from '../../../src/engines/engine.ts'
import { LogStore } from '../../../src/files/log-store.ts'
import { createLog } from '../../../src/log.ts'
import { JobScheduler } from '../../../src/regions/jobs/scheduler.ts'
import { ClusterCache } from '../../../src/regions/kubernetes/cache.ts'
import { ClusterClient } from '../../../src/regions/kubernetes/client.ts'
import { ClusterJobs } from '../../../src/regions/kubernetes/jobs/engine.ts'
import { LogFollowers } from '../../../src/regions/logs/followers.ts'
import { LogMasks } from '../../../src/regions/logs/masks.ts'
import { findJobRun, insertJobRun, listJobAttempts } from '../../../src/store/repositories/job-runs.ts'
import { storedRun } from '../../../testkit/jobs/stored-run.ts'
import { cluster, kubectl, newNamespace } from '../../../testkit/kubernetes/cluster.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../testkit/until.ts'

const { kubeconfig, registry } = cluster
const image = `${registry}/busybox:1`

async function jobsOfOwn() {
  const namespace = await newNamespace()
  const client = new ClusterClient({ kubeconfig: kubeconfig! })
  const installationId = `test-${randomText(10)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, 'x')}`
  const namespacePrefix = namespace.replace(/[^-]+$/, '')
  const server = () => client.config
  const cache = new ClusterCache({ clock: systemClock, installationId, namespacePrefix, server })
  const jobs = new ClusterJobs({
    ...{ cluster: client, cache, clock: systemClock, installationId },
    namespaceOf: () => namespace,
    claimOf: (_appEnvId, volume) => volume,
  })
  cache.start({ changed() {}, jobsChanged() {}, stateChanged() {} })
  onTestFinished(() => cache.stop())
  await untilRead(
    () => Promise.resolve(cache.problem),
    (problem) => problem === null,
    'a cache that follows',
  )
  const spec = (command: string, values: Partial<ContainerSpec> = {}): ContainerSpec => {
    const name = `job-${randomText(10).replaceAll(/[^a-z]/g, 'x')}-1`
    return {
      ...{ name, podId: newId('pod'), appEnvId: 'env_a', accountId: 'acc_a', contentId: 'dep_a', image },
      ...{ port: null, env: {}, cpuMillicores: 200, memoryMb: 32, internalHost: name },
      command: ['/bin/sh', '-lc', command],
      ...values,
    }
  }
  const find = async (name: string) => (await jobs.list()).find((one) => one.name === name)
  /** Applies it again until it starts, as the scheduler does: its pod may come late. */
  const untilState = async (one: ContainerSpec, state: EngineContainer['state']) => {
    // By the list alone: what an apply returns may be newer than the watch.
    const look = async () => {
      const listed = await find(one.name)
      if ((listed?.state ?? 'created') === 'created') await jobs.apply(one)
      return listed
    }
    const listed = await untilRead(look, (now) => now?.state === state, `an attempt that is ${state}`)
    return listed!
  }
  const logOf = async (name: string) => {
    const lines: string[] = []
    const options = { since: null, follow: true, signal: new AbortController().signal }
    for await (const { message } of jobs.logs(name, options)) lines.push(message)
    return lines
  }
  return { namespace, jobs, spec, find, untilState, logOf }
}

describe.skipIf(!kubeconfig || !registry)('job attempts in a cluster', () => {
  it('run in a shell with their variables, and show output, times and exit code', async () => {
    const { jobs, spec, untilState, logOf } = await jobsOfOwn()
    const one = spec('echo "$GREETING from $0 in $(pwd)"; exit 3', {
      env: { GREETING: 'hello\nthere' },
      workingDir: '/tmp',
    })
    await jobs.apply(one)
    // A repeated call starts nothing.
    await jobs.apply(one)
    const ended = await untilState(one, 'exited')
    expect(ended).toMatchObject({ exitCode: 3, podId: one.podId, appEnvId: 'env_a', outOfMemory: false })
    expect(Date.parse(ended.finishedAt!)).toBeGreaterThanOrEqual(Date.parse(ended.startedAt!))
    expect(await logOf(one.name)).toEqual(['hello', 'there from /bin/sh in /tmp'])
  })

  it('2.5: start one container, also when the cluster makes another pod for the Job', async () => {
    const { namespace, jobs, spec, untilState } = await jobsOfOwn()
    const one = spec('while [ ! -e /tmp/go ]; do sleep 0.1; done')
    await jobs.apply(one)
    await untilState(one, 'running')
    const named = ['-n', namespace, 'get', 'pods', '-l', `longshore.dev/name=${one.name}`]
    const [pod] = JSON.parse(await kubectl([...named, '-o', 'json'])).items
    const { name, namespace: of, labels, annotations, ownerReferences, finalizers } = pod.metadata
    const job = JSON.parse(await kubectl(['-n', namespace, 'get', 'job', one.name, '-o', 'json']))
    const second = {
      ...{ apiVersion: 'v1', kind: 'Pod', spec: job.spec.template.spec },
      metadata: { name: `${name}-2`, namespace: of, labels, annotations, ownerReferences, finalizers },
    }
    await kubectl(['create', '-f', '-'], second)
    await jobs.apply(one)
    // As its controller does with a surplus pod, which is no failure of the attempt.
    await kubectl(['-n', namespace, 'delete', 'pod', `${name}-2`, '--ignore-not-found'])
    await kubectl(['-n', namespace, 'exec', name, '--', 'touch', '/tmp/go'])
    const ended = await untilState(one, 'exited')
    expect(ended).toMatchObject({ exitCode: 0 })
    const started = '{range .items[*]}{.metadata.name}={.spec.nodeName}{"\\n"}{end}'
    const pods = (await kubectl([...named, '-o', `jsonpath=${started}`])).trim().split('\n')
    expect(pods.filter((line) => !line.endsWith('='))).toEqual([expect.stringContaining(`${name}=`)])
  })

  it('follow the log while they run, and continue after a line', async () => {
    const { jobs, spec, untilState } = await jobsOfOwn()
    const one = spec('echo first; while [ ! -e /tmp/go ]; do sleep 0.1; done')
    await jobs.apply(one)
    await untilState(one, 'running')
    const stop = new AbortController()
    const lines = jobs
      .logs(one.name, { since: null, follow: true, signal: stop.signal })
      [Symbol.asyncIterator]()
    const first = await lines.next()
    expect(first.value?.message).toBe('first')
    stop.abort()
    expect((await lines.next()).done).toBe(true)
    const since = first.value!.timestamp
    const later = jobs.logs(one.name, { since, follow: false, signal: new AbortController().signal })
    expect(await later[Symbol.asyncIterator]().next()).toMatchObject({ done: true })
  })

  it('end when they are stopped, and leave nothing when they are removed', async () => {
    const { namespace, jobs, spec, find, untilState } = await jobsOfOwn()
    const one = spec('trap "exit 0" TERM; while true; do sleep 0.1; done')
    await jobs.apply(one)
    await untilState(one, 'running')
    await jobs.stop(one.name, 10)
    await untilState(one, 'exited')
    await jobs.remove(one.name)
    await jobs.remove(one.name)
    // The list is of the watch, which a removal reaches a moment later.
    await expect.poll(() => find(one.name)).toBeUndefined()
    const left = () => kubectl(['-n', namespace, 'get', 'jobs,pods,secrets', '-o', 'name'])
    await expect.poll(left).toBe('')
  })

  it('report that a container took too much memory', async () => {
    const { jobs, spec, untilState } = await jobsOfOwn()
    const one = spec('sleep 5; exec dd if=/dev/zero of=/dev/null bs=200M count=1')
    await jobs.apply(one)
    // Not at its start: containerd may not watch its memory yet then (containerd/containerd#8180).
    expect(await untilState(one, 'exited')).toMatchObject({ outOfMemory: true, exitCode: 137 })
  })

  it('fail when their node rejects the pod, as when it ran out of room meanwhile', async () => {
    const { namespace, jobs, spec, find } = await jobsOfOwn()
    const one = spec('true', { memoryMb: 10_000_000 })
    const problem = () => jobs.apply(one).then(String, (error: Error) => error.message)
    await expect.poll(problem).toBe('No node of the cluster has room for the container')
    const named = ['-n', namespace, 'get', 'pods', '-l', `longshore.dev/name=${one.name}`, '-o', 'json']
    const [pod] = JSON.parse(await kubectl(named)).items
    const [node] = JSON.parse(await kubectl(['get', 'nodes', '-o', 'json'])).items
    // As a scheduler does that does not know yet what the node runs.
    const target = { apiVersion: 'v1', kind: 'Node', name: node.metadata.name }
    const binding = { apiVersion: 'v1', kind: 'Binding', metadata: pod.metadata, target }
    const to = `/api/v1/namespaces/${namespace}/pods/${pod.metadata.name}/binding`
    await kubectl(['create', '--raw', to, '-f', '-'], binding)
    await expect.poll(problem).toMatch(/^A node of the cluster rejected the container: .*memory/)
    await expect.poll(() => find(one.name)).toBeUndefined()
  })

  it('fail for an image that does not exist, and never start later', async () => {
    const { jobs, spec, find } = await jobsOfOwn()
    const one = spec('true', { image: `${registry}/nothere:1` })
    const problem = () =>
      jobs.apply(one).then(
        () => null,
        (error) => error.reason,
      )
    await expect.poll(problem).toBe('image pull')
    await expect.poll(() => find(one.name)).toBeUndefined()
  })
})

describe.skipIf(!kubeconfig || !registry)('job runs in a cluster', () => {
  it('2.5: are retried up to backoffLimit, each attempt with one container, and keep their logs', async () => {
    const { namespace, jobs } = await jobsOfOwn()
    const platform = await TestPlatform.start({ reconciles: false })
    const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-jobs-'))
    const logs = new LogStore(dir)
    onTestFinished(async () => {
      await platform.close()
      await logs.close()
      rmSync(dir, { recursive: true, force: true })
    })
    const { appEnvId } = await platform.makeEnvironment({ app: { dockerPreset: 'JOB' } })
    const { accountId, region, db, secrets } = platform
    const log = createLog('test', 'silent')
    const scheduler = new JobScheduler({
      ...{ db, log, secrets, clock: systemClock, nodeName: 'test', bootTime: readBootTime },
      clockScale: 100,
      engineOf: () => jobs,
      list: async () => ({ containers: await jobs.list(), isListed: () => true }),
      followers: new LogFollowers(logs, new LogMasks(db, secrets), log),
      usage: { ended: async () => {} },
    })
    onTestFinished(() => scheduler.stop())
    const jobRunId = newId('run')
    const of = storedRun(jobRunId, { appEnvId, accountId }, platform.now)
    await db.write((tx) =>
      insertJobRun(tx, {
        ...{ ...of, region, envName: 'report', status: 'PENDING', attempt: 0, startedAt: null },
        snapshot: { ...of.snapshot, image, command: 'echo attempt; exit 7', shell: true, backoffLimit: 1 },
        settings: { envVars: [], zClouds: 1, useVolume: false, mountPath: null },
        ttlSecondsAfterFinished: 1_000_000,
      }),
    )
    const status = async () => {
      scheduler.wake()
      return (await db.read((tx) => findJobRun(tx, jobRunId)))?.status
    }
    await expect.poll(status, { interval: 250 }).toBe('FAILED')
    const run = await db.read((tx) => findJobRun(tx, jobRunId))
    expect(run).toMatchObject({ attempt: 2, exitCode: 7, reason: 'Error' })
    // The cluster may have made others, which never started.
    const nodes = '{range .items[*]}{.spec.nodeName}{"\\n"}{end}'
    const pods = await kubectl(['-n', namespace, 'get', 'pods', '-o', `jsonpath=${nodes}`])
    expect(pods.split('\n').filter(Boolean)).toHaveLength(2)
    const attempts = await db.read((tx) => listJobAttempts(tx, appEnvId, 10))
    expect(attempts.map(({ exitCode }) => exitCode)).toEqual([7, 7])
    const lines = async () =>
      (await logs.read(appEnvId, { type: 'JOB', size: 100 })).logs.map(({ message }) => message)
    await expect.poll(lines).toEqual(['attempt', 'attempt'])
  })
})
