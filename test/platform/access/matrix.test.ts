import { describe, expect, it } from 'vitest'
import { operations } from '../../../src/contract/index.ts'
import { isRead } from '../../../src/contract/operation.ts'
import { AccessMatrix, named, type ObjectKind } from '../../../testkit/access/matrix.ts'
import { expected, restDifferences, toolDifferences } from '../../../testkit/access/permissions.ts'

const matrix = new AccessMatrix()

describe('permissions', () => {
  it('A1 A2 A3 A4 A5 M1 M2 M7 M8 every operation, caller and object gets the specified response', async () => {
    const { wrong, cells } = await restDifferences(matrix)
    expect(wrong).toEqual([])
    expect(cells).toBeGreaterThan(2_000)
  })

  it('M7 every tool gives every caller the same outcome as REST, for every object', async () => {
    const { wrong, cells } = await toolDifferences(matrix)
    expect(wrong).toEqual([])
    expect(cells).toBeGreaterThan(1_500)
  })

  it('answers foreign, deleted and unknown objects with the same bytes', async () => {
    const different: string[] = []
    for (const row of operations) {
      const { kinds } = named[row.policy.on]
      for (const [name, caller] of Object.entries(matrix.callers)) {
        if (caller.of === 'nobody' || !kinds.includes('unknown')) continue
        const unknown = await matrix.ask(row, caller, 'unknown')
        const others = kinds.filter((kind) => expected(row, caller, kind) === 404)
        for (const kind of others) {
          const other = await matrix.ask(row, caller, kind)
          if (other.text !== unknown.text || other.status !== unknown.status) {
            different.push(`${row.id} × ${name} × ${kind}: ${other.text} / ${unknown.text}`)
          }
        }
      }
    }
    expect(different).toEqual([])
  })

  it('handles envName like appEnvId, and foreign names like unknown ones', async () => {
    const names = new Map<ObjectKind, string>()
    for (const [kind, by] of [
      ['own', matrix.platform.admin.token],
      ['restricted', matrix.platform.admin.token],
      ['foreign', matrix.callers.outsider!.token as string],
    ] as const) {
      names.set(
        kind,
        (await matrix.send('GET', '/app-env', { appEnvId: matrix.objects[kind].appEnvId }, by)).cliEnvName,
      )
    }
    const wrong: string[] = []
    for (const row of operations.filter(({ policy }) => policy.on === 'environment')) {
      for (const [name, caller] of Object.entries(matrix.callers)) {
        const headers: Record<string, string> = isRead(row) ? {} : { 'dry-run': 'true' }
        const by = async (kind: ObjectKind) => {
          const { appEnvId: _, ...input } = matrix.inputFor(row, kind)
          const envName = names.get(kind) ?? 'nobody-has-this'
          return matrix.platform.request(row.method, row.path, {
            token: caller.token,
            input: { ...input, envName },
            headers,
          })
        }
        const unknown = await by('unknown')
        for (const kind of ['own', 'restricted', 'foreign'] as const) {
          const { status, text } = await by(kind)
          const wanted = expected(row, caller, kind)
          const verdict = status === 401 || status === 403 || status === 404 ? status : 'allowed'
          const leaks = wanted === 404 && text !== unknown.text
          if (verdict !== wanted || leaks)
            wrong.push(`${row.id} × ${name} × ${kind}: ${status} ${text.slice(0, 100)}`)
        }
      }
    }
    expect(wrong).toEqual([])
  })
})
