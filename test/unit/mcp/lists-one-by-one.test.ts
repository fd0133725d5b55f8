import { expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { createLog } from '../../../src/log.ts'
import { defaultToolPolicy } from '../../../src/mcp/policy/tool-policy.ts'
import { HttpTools } from '../../../src/mcp/transport/http/tools.ts'

it('lists of tools whose callers become known at once are made one in a turn of the event loop', async () => {
  const known = Promise.resolve({
    kind: 'user',
    readOnly: false,
    groups: null,
    admin: true,
    manageMembers: true,
  } as const)
  const log = createLog('test', 'silent')
  const tools = new HttpTools({
    registry: [],
    apiUrl: () => '',
    log,
    clock: systemClock,
    permissions: () => known,
  })
  const caller = { token: 't', principal: 'usr_1', toolPolicy: defaultToolPolicy, host: undefined }
  const turns: number[] = []
  let turn = 0
  let next = setImmediate(function count() {
    turn += 1
    next = setImmediate(count)
  })
  const lists = Array.from({ length: 10 }, () => tools.serverOptions(caller).tools())
  await Promise.all(lists.map((list) => Promise.resolve(list).then(() => turns.push(turn))))
  clearImmediate(next)
  expect(new Set(turns).size).toBe(10)
})
