import { describe, expect, it } from 'vitest'
import { EngineFailure } from '../../../../src/engines/engine.ts'
import { AppError } from '../../../../src/errors.ts'
import { jobManifests } from '../../../../src/regions/kubernetes/jobs/manifest.ts'
import { containerOf, podOf, startProblem } from '../../../../src/regions/kubernetes/jobs/status.ts'

const spec = {
  name: 'report-nightly-abc-1',
  podId: 'pod_a',
  appEnvId: 'env_a',
  accountId: 'acc_a',
  contentId: 'dep_a',
  image: 'registry.test/longshore/env_a@sha256:00',
  port: null,
  env: { TOKEN: 'tip-top-secret', MODE: 'night' },
  cpuMillicores: 500,
  memoryMb: 512,
  internalHost: 'report-nightly-abc-1',
  command: ['/bin/sh', '-lc', 'node report.js "$1"', 'sh', 'yesterday'],
  workingDir: '/app',
  mounts: [{ volume: 'data', path: '/data' }],
}
const labels = {
  'longshore.dev/installation': 'inst',
  'longshore.dev/kind': 'job-attempt',
  'longshore.dev/environment': 'env_a',
  'longshore.dev/content': 'dep_a',
  'longshore.dev/attempt': 'pod_a',
  'longshore.dev/name': 'report-nightly-abc-1',
}
const metadata = { name: 'report-nightly-abc-1', namespace: 'ls-acme', labels }

describe('the objects of a job attempt', () => {
  const claimOf = (volume: string) => `report-nightly-${volume}`
  const manifests = jobManifests(spec, { installationId: 'inst', namespace: 'ls-acme', claimOf })

  it('2.5: are a Job that starts one container and never another, and a Secret with its variables', () => {
    expect(manifests).toEqual([
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata,
        type: 'Opaque',
        stringData: { TOKEN: 'tip-top-secret', MODE: 'night' },
        immutable: true,
      },
      {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata,
        spec: {
          completions: 1,
          parallelism: 1,
          podReplacementPolicy: 'Failed',
          backoffLimit: 20,
          podFailurePolicy: {
            rules: [
              { action: 'FailJob', onExitCodes: { containerName: 'app', operator: 'NotIn', values: [0] } },
              { action: 'FailJob', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
            ],
          },
          template: {
            metadata: { labels },
            spec: {
              schedulingGates: [{ name: 'longshore.dev/start' }],
              restartPolicy: 'Never',
              terminationGracePeriodSeconds: 10,
              automountServiceAccountToken: false,
              enableServiceLinks: false,
              containers: [
                {
                  name: 'app',
                  image: 'registry.test/longshore/env_a@sha256:00',
                  command: [
                    '/bin/sh',
                    '-c',
                    'export LONGSHORE_PATH="$PATH"; exec /bin/sh -lc "$0" "$@"',
                    `export PATH="$LONGSHORE_PATH\${PATH:+:$PATH}"; unset LONGSHORE_PATH; node report.js "$1"`,
                    'sh',
                    'yesterday',
                  ],
                  workingDir: '/app',
                  envFrom: [{ secretRef: { name: 'report-nightly-abc-1' } }],
                  resources: {
                    limits: { cpu: '500m', memory: '512Mi' },
                    requests: { cpu: '50m', memory: '512Mi' },
                  },
                  securityContext: {
                    allowPrivilegeEscalation: false,
                    capabilities: { drop: ['ALL'] },
                    seccompProfile: { type: 'RuntimeDefault' },
                  },
                  volumeMounts: [{ name: 'data', mountPath: '/data' }],
                },
              ],
              volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'report-nightly-data' } }],
            },
          },
        },
      },
    ])
  })

  it('hold the values of variables in the Secret only', () => {
    expect(JSON.stringify(manifests[1])).not.toContain('tip-top-secret')
  })
})

describe('the state of a job attempt', () => {
  const job = { metadata }
  const failed = { ...job, status: { conditions: [{ type: 'Failed', status: 'True' }] } }
  const pod = (state: object) => ({
    metadata,
    spec: { nodeName: 'n1' },
    status: { containerStatuses: [{ state }] },
  })

  it('is created, running and exited with the times of the container', () => {
    expect(containerOf(job, undefined)).toMatchObject({ state: 'created', podId: 'pod_a', appEnvId: 'env_a' })
    expect(containerOf(job, pod({ waiting: { reason: 'ContainerCreating' } }))).toMatchObject({
      state: 'created',
    })
    expect(containerOf(job, pod({ running: { startedAt: '2026-01-05T10:00:00Z' } }))).toMatchObject({
      state: 'running',
      startedAt: '2026-01-05T10:00:00.000Z',
      nodeName: 'n1',
    })
    const times = { startedAt: '2026-01-05T10:00:00Z', finishedAt: '2026-01-05T10:00:07Z' }
    expect(
      containerOf(failed, pod({ terminated: { exitCode: 137, reason: 'OOMKilled', ...times } })),
    ).toMatchObject({
      state: 'exited',
      exitCode: 137,
      outOfMemory: true,
      finishedAt: '2026-01-05T10:00:07.000Z',
    })
  })

  it('has exited with an unknown end when its pod is gone with its node', () => {
    expect(containerOf(failed, undefined)).toMatchObject({
      state: 'exited',
      exitCode: null,
      finishedAt: null,
    })
  })

  it('is that of the pod that was chosen, or of the oldest, which will be; a chosen one that is gone has exited', () => {
    const made = (name: string, second: number) => ({
      metadata: { ...metadata, name, creationTimestamp: `2026-01-05T10:00:0${second}Z` },
      spec: { schedulingGates: [{ name: 'longshore.dev/start' }] },
    })
    const [one, same, later] = [made('a', 1), made('b', 1), made('c', 2)] as const
    expect(podOf(job, [])).toBeUndefined()
    expect(podOf(job, [later, same, one])).toBe(one)
    const chosen = { metadata: { ...metadata, annotations: { 'longshore.dev/pod': 'c' } } }
    expect(podOf(chosen, [one, later])).toBe(later)
    expect(podOf(chosen, [one])).toBeUndefined()
    expect(containerOf(chosen, undefined)).toMatchObject({ state: 'exited', exitCode: null })
  })

  it('fails for an image that cannot be pulled and for a pod that its node rejects, and waits for room', () => {
    expect(startProblem(job, pod({ waiting: { reason: 'ErrImagePull' } }))).toBeNull()
    const pull = startProblem(job, pod({ waiting: { reason: 'ImagePullBackOff', message: 'not found' } }))
    expect(pull).toBeInstanceOf(EngineFailure)
    expect(pull).toMatchObject({ reason: 'image pull', message: expect.stringContaining('not found') })
    const config = (message: string) =>
      startProblem(job, pod({ waiting: { reason: 'CreateContainerConfigError', message } }))
    expect(config('secret "x" not found')).toMatchObject({ reason: 'bad-command' })
    expect(config('failed to sync secret cache: timed out waiting for the condition')).toBeNull()
    const gated = [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }]
    expect(startProblem(job, { metadata, status: { conditions: gated } })).toBeNull()
    const full = [{ type: 'PodScheduled', status: 'False', message: '0/2 nodes are available' }]
    const waiting = startProblem(job, { metadata, status: { conditions: full } })
    expect(waiting).toBeInstanceOf(AppError)
    expect(waiting).toMatchObject({ kind: 'unavailable', details: '0/2 nodes are available' })
    const message = 'Pod was rejected: Node did not have enough resource: memory'
    const rejected = startProblem(job, {
      metadata,
      status: { phase: 'Failed', reason: 'OutOfmemory', message },
    })
    expect(rejected).toBeInstanceOf(EngineFailure)
    expect(rejected).toMatchObject({ message: expect.stringContaining(message) })
  })
})
