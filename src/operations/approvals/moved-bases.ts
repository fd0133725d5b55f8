import { resources } from '../../contract/resources.ts'
import type { Base, StoredApproval } from '../../domain/approvals/approval.ts'
import type { Tx } from '../../store/db.ts'
import { resourceOf } from '../core/resources.ts'

type BaseType = Parameters<typeof resourceOf>[0]

/**
 * The objects that changed since the steps were shown. Later steps of a plan rest on what earlier ones make of an object,
 * so the first revision that a plan names of it counts.
 */
export async function movedBases(tx: Tx, { steps }: StoredApproval): Promise<Base[]> {
  const first = new Map<string, Base>()
  for (const base of steps.flatMap((step) => step.base))
    if (base.id !== 'new' && !first.has(base.id)) first.set(base.id, base)
  const moved: Base[] = []
  for (const base of first.values()) {
    const row = resourceOf(base.type as BaseType)
    const object = await row.find(tx, base.id, resources[base.type as BaseType].idFields[0])
    if (!object || row.revision?.(object as never) !== base.revision) moved.push(base)
  }
  return moved
}
