import { isRead, type Operation } from '../../contract/operation.ts'
import type { PolicyContent } from '../../contract/policy.ts'
import { conditionProblem } from './conditions.ts'
import { globTest } from './glob.ts'

/** Names that rules may use; null: not known, as for the policy of the platform. */
interface KnownNames {
  operations: readonly Operation[]
  members: ReadonlySet<string> | null
  tokens: ReadonlySet<string> | null
}

/** A name in a policy that can never match, with its place such as `rules[0].on.operations[1]`. */
interface PolicyProblem {
  place: string
  problem: string
}

/** The first name that cannot match anything; null: every name can. */
export function problemOf(policy: PolicyContent, known: KnownNames): PolicyProblem | null {
  const scoped = [
    ...policy.rules.map((rule, index) => ({ rule, place: `rules[${index}]` })),
    ...policy.freezes.map((rule, index) => ({ rule, place: `freezes[${index}]` })),
  ]
  for (const { rule, place } of scoped) {
    const found = scopeProblem(rule, place, known)
    if (found) return found
  }
  for (const [index, { when = [], after }] of policy.rules.entries()) {
    for (const [at, condition] of when.entries()) {
      const problem = conditionProblem(condition)
      if (problem) return { place: `rules[${index}].when[${at}]`, problem }
    }
    const problem = after ? operationProblem(after.operation, known.operations) : null
    if (problem) return { place: `rules[${index}].after.operation`, problem }
  }
  return null
}

function scopeProblem(
  { who, on }: PolicyContent['freezes'][number] | PolicyContent['rules'][number],
  place: string,
  { operations, members, tokens }: KnownNames,
): PolicyProblem | null {
  for (const [index, pattern] of (on?.operations ?? []).entries()) {
    const problem = operationProblem(pattern, operations)
    if (problem) return { place: `${place}.on.operations[${index}]`, problem }
  }
  for (const [name, ids, existing] of [
    ['members', who?.members ?? [], members],
    ['tokens', who?.tokens ?? [], tokens],
  ] as const) {
    const index = existing === null ? -1 : ids.findIndex((id) => !existing.has(id))
    if (index !== -1)
      return {
        place: `${place}.who.${name}[${index}]`,
        problem: `the account has no ${name.slice(0, -1)} ${ids[index]}`,
      }
  }
  return null
}

/** Policies decide over writes, and over reads that show secrets. */
export function isDecided(row: Operation): boolean {
  return !isRead(row) || ['decrypt', 'showSecrets'].some((name) => name in row.input.shape)
}

function operationProblem(pattern: string, operations: readonly Operation[]): string | null {
  const test = globTest(pattern)
  const named = operations.filter(({ id }) => test(id))
  if (named.some(isDecided)) return null
  if (named.length > 0)
    return `${pattern} is a read: policies decide over writes, and over reads that show secrets`
  return `there is no operation ${pattern}`
}
