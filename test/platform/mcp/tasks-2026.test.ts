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
