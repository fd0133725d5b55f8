import { describe, expect, it } from 'vitest'
import { operations } from '../../../src/contract/index.ts'
import { isRead, type Operation } from '../../../src/contract/operation.ts'
import { AccessMatrix, type CallerKind, named, type ObjectKind } from '../../../testkit/access/matrix.ts'
import { openToolSession } from '../../../testkit/mcp/tool-session.ts'

const matrix = new AccessMatrix()

/** For these, the matrix names an object that does not exist. */
const ofNobody = new Set([
  'revoke-user-token',
  'remove-user',
  'accept-invitation',
  'decline-invitation',
  'connect-chat-user',
])
type Verdict = 401 | 403 | 404 | 'allowed'

/** The permissions (docs/interface.md#permissions), duplicated here on purpose. */
function expected(row: Operation, caller: CallerKind, kind: ObjectKind): Verdict {
  if (caller.of === 'nobody') return 401
  if (caller.readOnly && !isRead(row)) return 403
  const { policy } = row
  if (caller.of === 'environment' || caller.of === 'otherEnvironment') {
    if (!('environmentToken' in policy)) return 403
    if (policy.on === 'installation') return 'allowed'
    if (kind !== 'own' && kind !== 'restricted') return 404
    return (kind === 'own') === (caller.of === 'environment') ? 'allowed' : 403
  }
  if ('operatorOnly' in policy) return caller.of === 'main' && caller.admin ? 'allowed' : 403
  if (policy.on === 'installation') return ofNobody.has(row.id) ? 404 : 'allowed'
  const reachable = caller.of === 'main' ? ['own', 'restricted'] : ['foreign']
  if (!reachable.includes(kind)) return 404
  if (caller.restricted && kind === 'restricted') return 403
  const needs = 'needs' in policy ? policy.needs : undefined
  if (needs === 'admin' && !caller.admin) return 403
  if (needs === 'manageMembers' && !caller.manages) return 403
  return 'allowed'
}
function tokenIsTheReason(error: string): boolean {
  return error === 'This token is read-only' || error === 'This operation needs a user token'
}
/** The same call through a tool: as a dry run, and without waiting. */
function toolInputFor(row: Operation, kind: ObjectKind): Record<string, unknown> {
  const input = matrix.inputFor(row, kind)
  if (isRead(row)) return input
  const grants = row.id === 'update-member-env-access' ? { grantFullAccess: true } : {}
  return { ...input, ...grants, dryRun: true }
}
describe('permissions', () => {
  it('A1 A2 A3 A4 A5 M1 M2 M7 M8 every operation, caller and object gets the specified response', async () => {
    const wrong: string[] = []
    let cells = 0
    for (const row of operations) {
      for (const [name, caller] of Object.entries(matrix.callers)) {
        for (const kind of named[row.policy.on].kinds) {
          cells += 1
          const { status, text } = await matrix.ask(row, caller, kind)
          const verdict = status === 401 || status === 403 || status === 404 ? status : 'allowed'
          const wanted = expected(row, caller, kind)
          if (verdict !== wanted || status >= 500)
            wrong.push(`${row.id} × ${name} × ${kind}: ${status}, not ${wanted}: ${text.slice(0, 160)}`)
        }
      }
    }
    expect(wrong).toEqual([])
    expect(cells).toBeGreaterThan(2_000)
  })

  it('M7 every tool gives every caller the same outcome as REST, for every object', async () => {
    const wrong: string[] = []
    let cells = 0
    for (const [name, caller] of Object.entries(matrix.callers)) {
      const session = await openToolSession(matrix.platform.apiUrl, {
        token: caller.token ?? `lsu_${'a'.repeat(49)}`,
      })
      // Agents withdraw only approvals that they requested, people those of others too.
      const alike = operations.filter(
        ({ id, peopleOnly }) => peopleOnly !== true && id !== 'withdraw-approval',
      )
      for (const row of alike) {
        const said = new Map<ObjectKind, string>()
        for (const kind of named[row.policy.on].kinds) {
          cells += 1
          const { status, json } = await matrix.ask(row, caller, kind)
          const { isError, structured, text } = await session.call(row.id, toolInputFor(row, kind))
          if (expected(row, caller, kind) === 404) said.set(kind, text)
          // A tool's early checks may report another problem of the same call first: invalid input or a wrong object
          // before a missing permission.
          const mayDiffer = [400, 409].includes(status) || tokenIsTheReason(json?.error)
          const same = isError
            ? status !== 200 && (mayDiffer || structured.error === json.error)
            : status === 200
          if (!same)
            wrong.push(`${row.id} × ${name} × ${kind}: ${status} ${json?.error}, not ${text.slice(0, 200)}`)
        }
        // Callers without access cannot distinguish foreign, deleted and unknown objects.
        if (new Set(said.values()).size > 1)
          wrong.push(`${row.id} × ${name}: ${[...said.values()].join(' / ')}`)
      }
      await session.close()
    }
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
