import { describe, expect, it } from 'vitest'
import { databaseState } from '../../../../src/regions/kubernetes/databases/state.ts'
import {
  appState,
  functionState,
  type WorkloadObject,
  type WorkloadPod,
} from '../../../../src/regions/kubernetes/status.ts'

const metadata = { name: 'shop', namespace: 'ls-1', uid: 'u', generation: 2 }
const nowMs = Date.parse('2026-11-01T12:00:00Z')

function pod(status: NonNullable<NonNullable<WorkloadPod['status']>['containerStatuses']>[0]): WorkloadPod {
  return { metadata: { name: 'p', namespace: 'ls-1', uid: 'p' }, status: { containerStatuses: [status] } }
}
const ended = (reason: string, exitCode: number, restartCount = 2) =>
  pod({ name: 'app', ready: false, restartCount, lastState: { terminated: { reason, exitCode } } })
const waiting = (reason: string, message = 'why') =>
  pod({ name: 'app', ready: false, restartCount: 0, state: { waiting: { reason, message } } })
/** What a kubelet reports that lost its connection to the API server for a moment. */
const late = waiting(
  'CreateContainerConfigError',
  'failed to sync secret cache: timed out waiting for the condition',
)

describe('the state of a version that a Deployment was given', () => {
  const deployment = (status: WorkloadObject['status']): WorkloadObject => ({
    metadata,
    spec: { replicas: 2 },
    status: { observedGeneration: 2, ...status },
  })

  it('is ready once only its own containers run and all are available', () => {
    const done = { replicas: 2, updatedReplicas: 2, availableReplicas: 2 }
    expect(appState(deployment(done), [])).toEqual({ is: 'ready' })
    expect(appState(deployment({ ...done, replicas: 3 }), [])).toEqual({ is: 'progressing' })
    expect(appState(deployment({ ...done, availableReplicas: 1 }), [])).toEqual({ is: 'progressing' })
    expect(appState(deployment({ ...done, observedGeneration: 1 }), [])).toEqual({ is: 'progressing' })
    expect(appState(undefined, [])).toEqual({ is: 'progressing' })
  })

  it.each([
    [waiting('ImagePullBackOff'), 'image pull'],
    [waiting('CreateContainerConfigError'), 'bad-command'],
    [ended('OOMKilled', 137), 'out-of-memory'],
    [ended('StartError', 128), 'bad-command'],
    [ended('Error', 3), 'exits-at-once'],
  ])('fails with the words of a machine region: %#', (failing, reason) => {
    expect(appState(deployment({}), [failing])).toMatchObject({ is: 'failed', reason })
  })

  it('names what to do about an image that runs as root where that is refused', () => {
    const refused = waiting(
      'CreateContainerConfigError',
      'container has runAsNonRoot and image will run as root',
    )
    expect(appState(deployment({}), [refused])).toMatchObject({
      reason: 'bad-command',
      message: expect.stringContaining('USER in the Dockerfile'),
    })
  })

  it('does not fail at the first exit, nor while an image is still being pulled', () => {
    expect(appState(deployment({}), [ended('Error', 3, 1)])).toEqual({ is: 'progressing' })
    expect(appState(deployment({}), [waiting('ErrImagePull')])).toEqual({ is: 'progressing' })
  })

  it('does not fail while a node waits for the cluster itself, and names that after the deadline', () => {
    expect(appState(deployment({}), [late])).toEqual({ is: 'progressing' })
    const conditions = [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }]
    expect(appState(deployment({ conditions }), [late])).toMatchObject({
      reason: 'timeout',
      message: expect.stringContaining('failed to sync secret cache'),
    })
  })

  it('says after the deadline whether there is no place for it or it does not answer', () => {
    const deadline = { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }
    expect(appState(deployment({ conditions: [deadline] }), [])).toMatchObject({ reason: 'start-timeout' })
    const quota = { type: 'ReplicaFailure', status: 'True', message: 'exceeded quota' }
    expect(appState(deployment({ conditions: [deadline, quota] }), [])).toMatchObject({
      message: 'The cluster has no place for the container: exceeded quota',
    })
  })
})

describe('the state of the newest revision of a Knative Service', () => {
  const failedAt = (at: string, message: string): WorkloadObject => ({
    metadata,
    status: {
      observedGeneration: 2,
      conditions: [{ type: 'ConfigurationsReady', status: 'False', message, lastTransitionTime: at }],
    },
  })

  it('is ready when the newest revision is the one that serves', () => {
    const revisions = { latestCreatedRevisionName: 'shop-2', latestReadyRevisionName: 'shop-2' }
    const conditions = [{ type: 'Ready', status: 'True' }]
    const status = { observedGeneration: 2, conditions, ...revisions }
    expect(functionState({ metadata, status }, [], nowMs)).toEqual({ is: 'ready' })
    const older = { ...status, latestReadyRevisionName: 'shop-1' }
    expect(functionState({ metadata, status: older }, [], nowMs)).toEqual({ is: 'progressing' })
  })

  it('does not believe a failure that Knative reports for a moment only', () => {
    const passing = failedAt('2026-11-01T11:59:50Z', 'Revision "shop-2" failed')
    expect(functionState(passing, [], nowMs)).toEqual({ is: 'progressing' })
    const lasting = failedAt('2026-11-01T11:59:30Z', 'Revision "shop-2" failed')
    expect(functionState(lasting, [], nowMs)).toMatchObject({ is: 'failed', reason: 'start-timeout' })
    const lastState = { terminated: { exitCode: 3, reason: 'Error' } }
    const once = pod({ name: 'app', ready: false, restartCount: 1, state: { waiting: {} }, lastState })
    expect(functionState(lasting, [once], nowMs)).toMatchObject({ reason: 'exits-at-once' })
    const image = failedAt('2026-11-01T11:59:30Z', 'Unable to fetch image "team/app:1"')
    expect(functionState(image, [], nowMs)).toMatchObject({ is: 'failed', reason: 'image pull' })
  })

  it('fails at once for a pod that says why', () => {
    const service = failedAt('2026-11-01T11:59:59Z', 'failed')
    expect(functionState(service, [ended('OOMKilled', 137)], nowMs)).toMatchObject({
      reason: 'out-of-memory',
    })
  })
})

describe('the state of a version of a database', () => {
  const sinceMs = Date.parse('2026-11-01T11:58:00Z')
  const at = (pods: WorkloadPod[], desired = 1, ms = nowMs) =>
    databaseState(pods, { desired, sinceMs, nowMs: ms })
  const ready = pod({ name: 'app', ready: true, restartCount: 0, state: { running: {} } })

  it('is ready once as many of its own containers are ready as it should have', () => {
    expect(at([ready])).toEqual({ is: 'ready' })
    expect(at([ready], 2)).toEqual({ is: 'progressing' })
    expect(at([])).toEqual({ is: 'progressing' })
  })
  it('fails as an app does, and after ten minutes without an answer', () => {
    expect(at([ended('Error', 1)])).toMatchObject({ is: 'failed', reason: 'exits-at-once' })
    expect(at([waiting('ImagePullBackOff')])).toMatchObject({ is: 'failed', reason: 'image pull' })
    expect(at([], 1, nowMs + 480_001)).toMatchObject({ is: 'failed', reason: 'start-timeout' })
  })
})
