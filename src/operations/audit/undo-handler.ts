import type { ImpactStatement } from '../../contract/impact.ts'
import type { Same } from '../../domain/access/undo.ts'
import type { AccountTarget } from '../core/access-targets.ts'
import type { Change, Context } from '../core/handler.ts'

/** How changes of one object type are put back. */
export interface UndoHandler<Stored> {
  /** Path prefixes that can be put back; anything else that an entry changed makes it irreversible. */
  fields: readonly string[]
  /** Fields that change with one of them, and again with its undo: `save` sets them. */
  follows?: Readonly<Record<string, readonly string[]>>
  /** The same for entries of one operation, in addition. */
  ofOperation?: Readonly<Record<string, Pick<UndoHandler<Stored>, 'fields' | 'follows'>>>
  /** When two values count as equal; deep equality when left out. */
  same?(context: Context, object: Stored): Same
  /** Saves the draft as the next revision. */
  save(
    context: Context,
    target: AccountTarget,
    current: Stored,
    draft: Stored,
  ): Promise<{ change: Change; impact: ImpactStatement; effect: string; wake?: string[] }>
}
