import { expect, it } from 'vitest'
import { operations } from '../../../src/contract/index.ts'
import { isRead, type Operation } from '../../../src/contract/operation.ts'
import { AccessMatrix, named, type ObjectKind } from '../../../testkit/access/matrix.ts'
import { restDifferences, toolDifferences } from '../../../testkit/access/permissions.ts'

const matrix = new AccessMatrix()

/** Rules of every kind, none of which matches, before one that does. */
const silent = Array.from({ length: 100 }, (_, index) => ({
  id: `silent-${index}`,
  effect: 'deny',
  who: { kinds: ['agent', 'person'], surfaces: ['rest', 'mcp'] },
  on: { environments: [`*-nowhere-${index}`], labels: { stage: 'prod' } },
}))

async function enforce(rule: Record<string, unknown>): Promise<void> {
  const owners = [
    [matrix.objects.own.accountId, matrix.platform.admin.token],
    [matrix.objects.foreign.accountId, matrix.callers.outsider!.token!],
  ] as const
  for (const [accountId, token] of owners) {
    const policy = { accountId, mode: 'enforce', rules: [...silent, rule] }
    await matrix.send('PUT', '/policy', policy, token)
  }
  matrix.answers.clear()
}

it('M7 a policy that allows everything changes no cell, over REST and over tools', async () => {
  await enforce({ id: 'all', effect: 'allow' })
  const rest = await restDifferences(matrix)
  const tools = await toolDifferences(matrix)
  expect([...rest.wrong, ...tools.wrong]).toEqual([])
  expect(rest.cells + tools.cells).toBeGreaterThan(3_500)
})

it('M7 a policy that denies writes stops exactly what was allowed', async () => {
  const cells: { row: Operation; name: string; kind: ObjectKind }[] = operations.flatMap((row) =>
    Object.keys(matrix.callers).flatMap((name) =>
      named[row.policy.on].kinds.map((kind) => ({ row, name, kind })),
    ),
  )
  const ask = ({ row, name, kind }: (typeof cells)[number]) => matrix.ask(row, matrix.callers[name]!, kind)
  const before = []
  for (const cell of cells) before.push(await ask(cell))
  const denied = operations.filter((row) => !isRead(row) && row.id !== 'update-policy').map(({ id }) => id)
  await enforce({ id: 'no-writes', effect: 'deny', on: { operations: denied } })
  const wrong: string[] = []
  let stopped = 0
  for (const [index, cell] of cells.entries()) {
    const { row, name, kind } = cell
    const old = before[index]!
    const { status, text, json } = await ask(cell)
    // A dry run says what the policy would decide, except of a plan, whose steps are refused in it.
    const isDenied = json?.policy?.effect === 'deny' || json?.error === 'Denied by policy'
    stopped += isDenied ? 1 : 0
    const isWrite = old.status === 200 && denied.includes(row.id) && row.policy.on !== 'installation'
    if (isDenied !== isWrite || (!isDenied && status !== old.status))
      wrong.push(`${row.id} × ${name} × ${kind}: ${old.status}, then ${status} ${text.slice(0, 160)}`)
  }
  expect(wrong).toEqual([])
  expect(stopped).toBeGreaterThan(250)
  const tools = await toolDifferences(matrix)
  expect(tools.wrong).toEqual([])
})
