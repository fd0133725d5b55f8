import { afterAll, beforeAll, expect, it } from 'vitest'
import { deleteAlert } from '../../../src/contract/alerts.ts'
import { AlertingFixture } from '../../../testkit/alerting/fixture.ts'
import { FakeSlack } from '../../../testkit/chat/fake-slack.ts'
import { RemediationFixture } from '../../../testkit/remediation/fixture.ts'

let fixture: AlertingFixture
let slack: FakeSlack
beforeAll(async () => {
  slack = await FakeSlack.start()
  fixture = await AlertingFixture.start()
  const { accountId, admin } = fixture.platform
  const config = { signingSecret: 'x', botToken: slack.botToken, apiBaseUrl: slack.apiUrl }
  const input = { accountId, name: 'Team', kind: 'slack-http', channel: 'C1', config }
  await fixture.platform.request('POST', '/chat-connection', { token: admin.token, input })
})
afterAll(async () => {
  await fixture.close()
  await slack.close()
})

it('3.2 an evaluated alert without contact points reaches the chat, also its end by deletion', async () => {
  const outbox = fixture.platform.chat.outbox(fixture.platform.db)
  const shown = async () => {
    outbox.wake()
    await outbox.settled()
    return slack.messages.filter(({ threadTs }) => threadTs === null).map(({ text }) => text.split('\n')[0])
  }
  const { appEnvId, alertId } = await fixture.makeAlert([])
  await fixture.cycles(appEnvId, 95, 8)
  expect(await shown()).toEqual([expect.stringMatching(/^FIRING: Busy/)])
  await fixture.cycles(appEnvId, 10, 4)
  expect(await shown()).toEqual([expect.stringMatching(/^RESOLVED: Busy/)])
  await fixture.cycles(appEnvId, 95, 8)
  await shown()
  await fixture.call(deleteAlert, { alertId })
  expect(await shown()).toEqual([
    expect.stringMatching(/^RESOLVED: Busy/),
    expect.stringMatching(/^CLOSED, not recovered: Busy/),
  ])
  await outbox.stop()
})

it('the thread of an alert shows its remediation run and the outcome, in one message', async () => {
  const remedies = new RemediationFixture(fixture)
  const outbox = fixture.platform.chat.outbox(fixture.platform.db)
  const runs = async () => {
    // A reply waits for its thread.
    for (const _ of [1, 2]) {
      outbox.wake()
      await outbox.settled()
    }
    return slack.messages.filter(({ text }) => text.startsWith('Remediation'))
  }
  const { appEnvId } = await remedies.make()
  await remedies.fire(appEnvId)
  const [acting, ...others] = await runs()
  expect(others).toEqual([])
  expect(acting?.text).toMatch(/^Remediation More containers: verifying\n[\s\S]*Steps: scale\./)
  const alert = slack.messages.findLast(({ text, threadTs }) => threadTs === null && /^FIRING/.test(text))
  expect(acting?.threadTs).toBe(alert?.ts)
  await remedies.cycles(appEnvId, 10, 4)
  const [verified, ...more] = await runs()
  expect(more).toEqual([])
  expect(verified?.ts).toBe(acting?.ts)
  expect(verified?.text).toMatch(/^Remediation More containers: verified\n[\s\S]*back to Normal/)
  await outbox.stop()
})
