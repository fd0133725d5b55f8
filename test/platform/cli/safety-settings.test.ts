import { afterAll, beforeAll, expect, it } from 'vitest'
import { runMcp } from '../../../src/cli/mcp/command.ts'
import { toolPolicyOfVariables } from '../../../src/mcp/policy/options.ts'
import { runShell } from '../../../testkit/cli/shell-fixture.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
})
afterAll(() => platform.close())

const shell = (variables: Record<string, string>, ...argv: string[]) =>
  runShell(platform, argv, undefined, variables)

it.each([
  ['accounts', 'list'],
  ['sample', 'x'],
  ['token', 'list'],
  ['region', 'check', 'local'],
  ['envs', 'list'],
])('an unknown LONGSHORE_ variable stops every command, such as %s %s', async (...argv) => {
  const said = await shell({ LONGSHORE_READONLY: 'true' }, ...argv)
  expect(said.code).toBe(1)
  expect(said.err).toContain('did you mean LONGSHORE_READ_ONLY?')
})

it('LONGSHORE_READ_ONLY holds for the whole command line: reads and dry runs only', async () => {
  const readOnly = { LONGSHORE_READ_ONLY: 'true' }
  expect((await shell(readOnly, 'accounts', 'list')).code).toBe(0)
  const refused = await shell(readOnly, 'accounts', 'update', '--name', 'Other')
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('This shell is read-only') })
  expect((await shell({ LONGSHORE_READ_ONLY: 'false' }, 'accounts', 'update', '--name', 'Other')).code).toBe(
    0,
  )
  const odd = await shell({ LONGSHORE_READ_ONLY: 'yes' }, 'accounts', 'list')
  expect(odd).toMatchObject({
    code: 1,
    err: expect.stringContaining('LONGSHORE_READ_ONLY: read-only is not understood'),
  })
})

it('the variables of longshore mcp mean the same as its options, and a mistyped one stops it', async () => {
  expect(
    toolPolicyOfVariables(
      {
        LONGSHORE_READ_ONLY: '1',
        LONGSHORE_NO_DESTRUCTIVE: 'true',
        LONGSHORE_TOOLS: 'apps,logs',
        LONGSHORE_EXCLUDE_TOOLS: 'get-logs',
      },
      ['get-logs'],
    ),
  ).toMatchObject({
    readOnly: true,
    noDestructive: true,
    groups: ['apps', 'logs'],
    excludedTools: ['get-logs'],
  })
  for (const wrong of [
    { LONGSHORE_READ_ONLY: 'yes' },
    { LONGSHORE_TOOLS: 'everything' },
    { LONGSHORE_EXCLUDE_TOOLS: 'x' },
  ])
    expect(await runMcp([], wrong)).toBe(2)
})
