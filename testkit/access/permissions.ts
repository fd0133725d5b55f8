import { operations } from '../../src/contract/index.ts'
import { isRead, type Operation } from '../../src/contract/operation.ts'
import { openToolSession } from '../mcp/tool-session.ts'
import { type AccessMatrix, type CallerKind, named, type ObjectKind } from './matrix.ts'

/** For these, the matrix names an object that does not exist. */
const ofNobody = new Set([
  'revoke-user-token',
  'remove-user',
  'remove-user-passkey',
  'accept-invitation',
  'decline-invitation',
  'connect-chat-user',
])
type Verdict = 401 | 403 | 404 | 'allowed'

/** The permissions (docs/interface.md#permissions), duplicated here on purpose. */
export function expected(row: Operation, caller: CallerKind, kind: ObjectKind): Verdict {
  if (caller.of === 'nobody') return 401
  if (caller.readOnly && !isRead(row)) return 403
  const { policy } = row
  if (caller.of === 'environment' || caller.of === 'otherEnvironment') {
    if (!('environmentToken' in policy)) return 403
    if (policy.on === 'installation') return 'allowed'
    if (kind !== 'own' && kind !== 'restricted') return 404
    return (kind === 'own') === (caller.of === 'environment') ? 'allowed' : 403
  }
  if ('operatorOnly' in policy && !(caller.of === 'main' && caller.admin)) return 403
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
function toolInputFor(matrix: AccessMatrix, row: Operation, kind: ObjectKind): Record<string, unknown> {
  const input = matrix.inputFor(row, kind)
  if (isRead(row)) return input
  const grants = row.id === 'update-member-env-access' ? { grantFullAccess: true } : {}
  return { ...input, ...grants, dryRun: true }
}
/** The cells of REST whose status is not the specified one. */
export async function restDifferences(matrix: AccessMatrix): Promise<{ wrong: string[]; cells: number }> {
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
  return { wrong, cells }
}

/** The cells in which a tool has another outcome than REST. */
export async function toolDifferences(matrix: AccessMatrix): Promise<{ wrong: string[]; cells: number }> {
  const wrong: string[] = []
  let cells = 0
  for (const [name, caller] of Object.entries(matrix.callers)) {
    const session = await openToolSession(matrix.platform.apiUrl, {
      token: caller.token ?? `lsu_${'a'.repeat(49)}`,
    })
    // Agents withdraw only approvals that they requested, people those of others too.
    const alike = operations.filter(({ id, peopleOnly }) => peopleOnly !== true && id !== 'withdraw-approval')
    for (const row of alike) {
      const texts = new Map<ObjectKind, string>()
      for (const kind of named[row.policy.on].kinds) {
        cells += 1
        const { status, json } = await matrix.ask(row, caller, kind)
        const { isError, structured, text } = await session.call(row.id, toolInputFor(matrix, row, kind))
        if (expected(row, caller, kind) === 404) texts.set(kind, text)
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
      if (new Set(texts.values()).size > 1)
        wrong.push(`${row.id} × ${name}: ${[...texts.values()].join(' / ')}`)
    }
    await session.close()
  }
  return { wrong, cells }
}
