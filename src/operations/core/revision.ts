import type { Policy } from '../../contract/operation.ts'
import { factsOf, type PolicyType, typesNamedBy } from '../../contract/resources.ts'
import { AppError } from '../../errors.ts'
import type { Target } from './access-targets.ts'
import { type Located, resourceOf } from './resources.ts'

/** Refuses a write that rests on an older revision of the object that its policy names. */
export function checkRevision(policy: Policy, target: Target, expected: unknown): void {
  if (expected === undefined) return
  const revision = revisionOf(policy, target)
  if (revision !== undefined && revision !== expected) {
    throw new AppError('conflict', 'Revision conflict', {
      details: `The revision is ${revision}, not ${expected}. Read the object again, then decide.`,
    })
  }
}

function revisionOf({ on }: Policy, target: Target): number | undefined {
  const type = typesNamedBy(on).find((one) => target[factsOf(one).key ?? '']) as PolicyType | undefined
  return type && resourceOf(type).revision?.(target[factsOf(type).key!] as Located)
}
