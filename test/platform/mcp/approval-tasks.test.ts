import { afterAll, beforeAll, expect, it } from 'vitest'
import { HttpFixture } from '../../../testkit/mcp/http-fixture.ts'
import { rpc2026 } from '../../../testkit/mcp/rpc-2026.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

const fixture = new HttpFixture()
let platform: TestPlatform
let appEnvId: string
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
  ;({ appEnvId } = await platform.makeEnvironment())
  const { accountId, admin } = platform
  const asks = {
    id: 'ask',
    effect: 'ask',
    who: { kinds: ['agent'] },
    on: { operations: ['update-app-env-variables'] },
  }
  const policy = { mode: 'enforce', rules: [asks], freezes: [], budgets: [] }
  await platform.request('PUT', '/policy', { token: admin.token, input: { accountId, policy } })
})
afterAll(() => platform.close())

const tasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
const opensPages = { ...tasks, elicitation: { url: {} } }

async function ask(
  method: string,
  params: Record<string, unknown>,
  capabilities: Record<string, unknown> = tasks,
) {
  const { headers, body } = rpc2026(method, params, { capabilities })
  const authorization = platform.admin.token
  return JSON.parse((await fixture.raw({ headers: { ...headers, authorization }, body })).body).result
}

async function waiting(name: string) {
  await fixture.stop()
  await fixture.serve({ apiUrl: () => platform.apiUrl })
  const args = { appEnvId, set: [{ name, value: '1', isSecret: false }] }
  const task = await ask('tools/call', { name: 'update-app-env-variables', arguments: args })
  expect(task).toMatchObject({ resultType: 'task', status: 'working', pollIntervalMs: 5_000 })
  const taskId = String(task.taskId)
  const { inputRequests } = await ask('tasks/get', { taskId }, opensPages)
  return { taskId, request: inputRequests.approval, approvalId: inputRequests.approval.params.elicitationId }
}

it('a write that waits for a person is a task, and opening its page decides nothing', async () => {
  const { taskId, request, approvalId } = await waiting('A')
  expect(request).toMatchObject({
    method: 'elicitation/create',
    params: { mode: 'url', url: expect.stringContaining(`/console/approvals/${approvalId}`) },
  })
  expect(await ask('tasks/get', { taskId }, opensPages)).toMatchObject({ status: 'input_required' })
  // A client that cannot open pages gets no request.
  expect(await ask('tasks/get', { taskId })).toMatchObject({ status: 'working' })
  const inputResponses = { approval: { action: 'accept' } }
  expect(await ask('tasks/update', { taskId, inputResponses }, opensPages)).toMatchObject({
    resultType: 'complete',
  })
  expect(await ask('tasks/get', { taskId }, opensPages)).toMatchObject({ status: 'input_required' })

  const { token } = platform.admin
  const { json } = await platform.request('GET', '/approval', { token, input: { approvalId } })
  const input = { approvalId, reviewDigest: json.reviewDigest, decision: 'approve' }
  await platform.request('POST', '/approval/decide', { token, input })
  expect(await ask('tasks/get', { taskId }, opensPages)).toMatchObject({
    ...{ status: 'completed', result: { structuredContent: { status: 'executed' } } },
  })
})

it('a task that is canceled withdraws its request for approval', async () => {
  const { taskId, approvalId } = await waiting('B')
  expect(await ask('tasks/cancel', { taskId })).toMatchObject({ resultType: 'complete' })
  expect(await ask('tasks/get', { taskId }, opensPages)).toMatchObject({ status: 'cancelled' })
  const { token } = platform.admin
  const { json } = await platform.request('GET', '/approval', { token, input: { approvalId } })
  expect(json.status).toBe('withdrawn')
})
