import { describe, expect, it } from 'vitest'
import { statusLines } from '../../../src/cli/env-lines.ts'

const version = (number: number, status: string) => ({
  contentId: `dep_${number}`,
  version: number,
  status,
  type: 'BUILD',
  containerImage: null,
  createdAt: '2026-05-01T03:00:00.000Z',
  deployedAt: null,
  failure: status === 'FAILED' ? { reason: 'exits-at-once', message: 'It ended. get-logs shows why.' } : null,
})
const status = (fields: object) =>
  ({
    appEnvId: 'env_1',
    cliEnvName: 'shop-prod',
    status: 'RUNNING',
    currentContentId: 'dep_1',
    currentVersion: 1,
    currentDeployment: version(1, 'DEPLOYED'),
    containers: { desired: 1, running: 1, ready: 1 },
    pendingChanges: { hasBuildChanges: false, hasDeployChanges: false, deployPendingChanges: [] },
    hosts: [{ host: 'h', url: 'http://shop-prod.fn.localhost:4480', kind: 'function' }],
    ...fields,
  }) as never
const none = { currentContentId: null, currentVersion: null }
const zero = { containers: { desired: 0, running: 0, ready: 0 } }

describe('the first line of the status', () => {
  it.each([
    ['serving', {}, 'RUNNING: version 1 serves with 1 of 1 containers.'],
    [
      'while containers are replaced',
      { containers: { desired: 1, running: 2, ready: 2 } },
      'RUNNING: version 1 serves; containers are being replaced or removed, and 2 are ready.',
    ],
    ['at zero', zero, 'RUNNING: version 1 is at zero: no container runs, and the next request starts one.'],
    [
      'not ready',
      { containers: { desired: 2, running: 2, ready: 0 } },
      'RUNNING: none of 2 containers is ready; longshore why shop-prod names the cause.',
    ],
    [
      'serving after a failed deployment',
      { currentDeployment: version(2, 'FAILED') },
      'RUNNING: version 1 serves with 1 of 1 containers. The newest deployment, version 2, FAILED (exits-at-once): longshore why shop-prod says what to do.',
    ],
    [
      'during a deployment',
      { status: 'UPDATING', currentDeployment: version(2, 'BUILDING') },
      'UPDATING: version 1 serves with 1 of 1 containers. Version 2 is BUILDING.',
    ],
    [
      'while a new version is in its window',
      {
        status: 'UPDATING',
        currentDeployment: version(2, 'DEPLOYING'),
        containers: { desired: 6, running: 6, ready: 6 },
      },
      'UPDATING: version 1 serves; ready containers of both versions: 6. Version 2 is DEPLOYING.',
    ],
    [
      'new',
      { status: 'STOPPED', ...none, ...zero, currentDeployment: null },
      'STOPPED: no version has served yet.',
    ],
    [
      'failed at first',
      { status: 'STOPPED', ...none, ...zero, currentDeployment: version(1, 'FAILED') },
      'STOPPED: no version has served yet. The newest deployment, version 1, FAILED (exits-at-once): longshore why shop-prod says what to do.',
    ],
    [
      'stopped',
      { status: 'STOPPED', ...zero },
      'STOPPED: it serves nothing until longshore envs start shop-prod starts version 1 again.',
    ],
    [
      'starting',
      { status: 'PENDING', ...none, ...zero, currentDeployment: version(1, 'DEPLOYING') },
      'PENDING: it does not serve yet. Version 1 is DEPLOYING.',
    ],
    [
      'in its first window',
      { status: 'PENDING', ...none, currentDeployment: version(1, 'DEPLOYING') },
      'PENDING: it serves, and is in its stability window. Version 1 is DEPLOYING.',
    ],
  ])('%s', (_case, fields, expected) => {
    expect(statusLines(status(fields))[0]).toBe(`shop-prod is ${expected}`)
  })

  it('is followed by the health, in the words of every surface', () => {
    const lastExit = { code: 3, reason: 'Error', at: '2026-05-01T03:00:00.000Z' }
    const health = {
      verdict: 'CRASH_LOOP',
      since: lastExit.at,
      restarts: 4,
      lastExit,
      path: null,
      failedPercent: null,
      logTail: ['secret talk'],
    }
    const lines = statusLines(status({ health })).join('\n')
    expect(lines).toMatch(
      /^health +CRASH_LOOP: Its containers keep exiting: 4 exits, the last with code 3\. Only the port is checked\.$/m,
    )
    expect(lines).not.toContain('secret talk')
  })

  it('is followed by the failure and the pending changes, with the commands for them', () => {
    const lines = statusLines(
      status({
        currentDeployment: version(2, 'FAILED'),
        pendingChanges: {
          hasBuildChanges: false,
          hasDeployChanges: true,
          deployPendingChanges: [{ group: 'Scaling', field: 'maxScale' }],
        },
      }),
    ).join('\n')
    expect(lines).toMatch(/^failure +exits-at-once: It ended\. longshore logs shop-prod shows why\.$/m)
    expect(lines).toMatch(
      /^pending changes +Scaling \(maxScale\); longshore envs apply shop-prod applies them$/m,
    )
  })
})

describe('the failure in the status', () => {
  const shown = (reason: string, message: string) =>
    statusLines(
      status({ currentDeployment: { ...version(2, 'FAILED'), failure: { reason, message } } }),
    ).find((line) => line.startsWith('failure'))

  it('names commands in the text of the platform, and quotes a program as it wrote', () => {
    expect(shown('exits-at-once', 'It ended. get-logs shows why.')).toContain(
      'longshore logs shop-prod shows why',
    )
    expect(shown('build step', 'npm error: delete-app failed')).toContain('npm error: delete-app failed')
  })
})
