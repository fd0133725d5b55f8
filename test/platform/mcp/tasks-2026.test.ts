import { describe, expect, it } from 'vitest'
import { HttpFixture } from '../../../testkit/mcp/http-fixture.ts'
import { rpc2026 } from '../../../testkit/mcp/rpc-2026.ts'

const fixture = new HttpFixture()
const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
const deploy = { name: 'deploy-app-env-image', arguments: { envName: 'shop-prod', image: 'shop:2' } }

async function ask(
  method: string,
  params: Record<string, unknown>,
  declared: Record<string, unknown> = capabilities,
) {
  return JSON.parse((await fixture.raw(rpc2026(method, params, { capabilities: declared }))).body)
}

describe('a task of 2026-07-28', () => {
  it('stands for a deployment until it has ended, for clients that declare tasks', async () => {
    fixture.backend.state.plans = [{ reads: 4 }]
    const { result: task } = await ask('tools/call', deploy)
    expect(task).toMatchObject({ resultType: 'task', status: 'working', pollIntervalMs: 2_000 })
    const states: string[] = []
    let last: Record<string, unknown> = {}
    for (let count = 0; count < 10 && last.status !== 'completed'; count += 1) {
      last = (await ask('tasks/get', { taskId: task.taskId })).result
      states.push(String(last.status))
    }
    expect(states[0]).toBe('working')
    expect(last).toMatchObject({ resultType: 'complete', status: 'completed', taskId: task.taskId })
    expect(last.result).toMatchObject({ structuredContent: { deployment: { outcome: 'serves' } } })
  })

  it('is not made for other clients, which may not read it either', async () => {
    fixture.backend.state.plans = [{ reads: 1 }]
    expect((await ask('tools/call', deploy, {})).result.resultType).toBe('complete')
    expect((await ask('tasks/get', { taskId: 'task_x' }, {})).error.code).toBe(-32021)
    expect((await ask('tasks/get', { taskId: 'task_x' })).error.code).toBe(-32602)
  })

  it('that is canceled cancels its deployment', async () => {
    fixture.backend.state.plans = [{ reads: 1_000_000 }]
    const { result: task } = await ask('tools/call', deploy)
    expect((await ask('tasks/cancel', { taskId: task.taskId })).result.resultType).toBe('complete')
    expect(fixture.backend.state.countOf('cancel-deployment')).toBe(1)
  })
})

const read = (taskId: unknown) => ask('tasks/get', { taskId }).then(({ result }) => result)
const call = (name: string, args: Record<string, unknown>) =>
  ask('tools/call', { name, arguments: args }).then(({ result }) => result)

describe('a task of 2026-07-28 for what no client waits for otherwise', () => {
  it('stands for a restore until it has ended', async () => {
    const task = await call('restore-app-env-backup', {
      ...{ envName: 'shop-prod', backupId: 'bak_1', confirm: 'shop-prod' },
    })
    expect(task).toMatchObject({ resultType: 'task', status: 'working' })
    expect(await read(task.taskId)).toMatchObject({
      status: 'working',
      statusMessage: 'The restore is RUNNING',
    })
    expect(await ask('tasks/cancel', { taskId: task.taskId })).toMatchObject({ result: {} })
    fixture.backend.state.restore = {
      status: 'SUCCEEDED',
      finishedAt: '2026-11-01T00:01:00.000Z',
      failure: null,
    }
    expect(await read(task.taskId)).toMatchObject({
      ...{ status: 'completed', result: { structuredContent: { restore: { status: 'SUCCEEDED' } } } },
    })
    fixture.backend.state.restore.failure = 'The file is damaged.'
    expect(await read(task.taskId)).toMatchObject({ status: 'completed', result: { isError: true } })
  })

  it('stands for a move, which ends where the environment serves', async () => {
    const task = await call('update-app-env', { envName: 'shop-prod', region: 'other' })
    expect(await read(task.taskId)).toMatchObject({ status: 'working', pollIntervalMs: 2_000 })
    const env = fixture.backend.state.env({ envName: 'shop-prod' })
    env.changingRegion = false
    expect((await read(task.taskId)).result.content[0].text).toContain('shop-prod is in other')
    env.region = 'local'
    expect(await read(task.taskId)).toMatchObject({ result: { isError: true } })
    expect((await call('update-app-env', { envName: 'shop-prod', zClouds: 2 })).resultType).toBe('complete')
  })

  it('stands for a probe, whose answer the platform keeps under the key of the call', async () => {
    fixture.backend.state.add({ name: 'fn', isFunction: true })
    let finish = () => {}
    fixture.backend.state.held.set(
      'probe-function',
      new Promise((resolve) => {
        finish = resolve
      }),
    )
    const task = await call('probe-function', { envName: 'shop-fn' })
    expect(task).toMatchObject({ resultType: 'task', status: 'working' })
    expect(await read(task.taskId)).toMatchObject({ status: 'working' })
    finish()
    let last = await read(task.taskId)
    while (last.status === 'working') last = await read(task.taskId)
    expect(last).toMatchObject({ status: 'completed', result: { structuredContent: { tookSeconds: 2 } } })
    const keys = fixture.backend.state.calls.filter(({ id, dryRun }) => id === 'probe-function' && !dryRun)
    expect(new Set(keys.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1)
  })

  it('stays within the scope of the server', async () => {
    fixture.backend.state.plans = [{ reads: 1_000_000 }]
    const task = await call('deploy-app-env-image', deploy.arguments)
    fixture.backend.state.add({ name: 'other' })
    await fixture.stop()
    await fixture.serve({ toolPolicy: { scope: { account: null, app: null, env: 'shop-other' } } })
    expect((await read(task.taskId)).result).toMatchObject({ isError: true })
    expect((await read(task.taskId)).result.content[0].text).toContain('outside the environment')
  })
})
