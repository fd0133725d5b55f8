import { type Clock, timestamp } from '../../clock.ts'
import { type Approval, decideApproval, getApproval } from '../../contract/approvals.ts'
import type { Operation } from '../../contract/operation.ts'
import { impactSentences } from '../../domain/approvals/impact-sentences.ts'
import { AppError } from '../../errors.ts'
import type { Db, Tx } from '../../store/db.ts'
import {
  findApprovalLink,
  type StoredLink,
  takeApprovalLink,
} from '../../store/repositories/approval-links.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import { newTraceparent } from '../../trace.ts'
import { isSigned } from '../core/approval-links.ts'
import type { OperationRunner } from '../core/call.ts'
import { unknownToken } from '../core/caller.ts'

/** What the page of a link shows: the approval as its person may read it now, and whether the link still decides. */
export interface LinkedApproval {
  approval: Approval
  isUsed: boolean
  /** For each step, what it ends, loses, interrupts and costs. */
  impacts: string[][]
}

/** The mailed links of approvals. Unknown, altered and expired codes throw `unauthenticated`. */
export interface DecisionLinks {
  /** Decides nothing: mail scanners open links too. */
  find(code: string, address: string): Promise<LinkedApproval>
  /** Decides as the person of the link over what it was made for, and ends the link. */
  decide(
    code: string,
    decision: { decision: 'approve' | 'deny'; comment?: string },
    address: string,
  ): Promise<{ message: string; approval: Approval }>
}

export function createDecisionLinks(deps: {
  db: Db
  clock: Clock
  secrets: SecretBox
  runner: OperationRunner
}): DecisionLinks {
  const { db, clock, secrets, runner } = deps
  const now = () => timestamp(clock.wallMs())

  /** Wrong codes count against the address like wrong tokens. */
  async function open(code: string, address: string, reads: boolean): Promise<StoredLink> {
    const link = await db.read((tx) => findApprovalLink(tx, code.split('.')[0] ?? ''))
    const isGood = link !== null && isSigned(secrets, link, code)
    const token = isGood ? link.linkId : code
    await runner.authenticate(token, { address, reads, credential: 'approval-link' })
    if (!isGood) throw unknownToken()
    return link
  }

  async function run<T>(
    link: StoredLink,
    address: string,
    operation: Operation,
    input: Record<string, unknown>,
    also?: (tx: Tx) => Promise<void>,
  ): Promise<T> {
    const { body } = await runner.run({
      operation,
      input,
      token: link.linkId,
      credential: 'approval-link',
      surface: 'link',
      clientAddress: address,
      traceparent: newTraceparent(),
      idempotencyKey: null,
      dryRun: false,
      ...(also && { also }),
    })
    return JSON.parse(body) as T
  }

  return {
    async find(code, address) {
      const link = await open(code, address, true)
      const { approvalId } = link
      const approval = await run<Approval>(link, address, getApproval, { approvalId })
      const impacts = approval.steps.map(({ impact }) => impactSentences(impact))
      return { approval, isUsed: link.usedAt !== null, impacts }
    },
    async decide(code, decision, address) {
      const link = await open(code, address, false)
      if (link.usedAt !== null) throw usedLink()
      const { approvalId, reviewDigest } = link
      const parsed = decideApproval.input.safeParse({ approvalId, reviewDigest, ...decision })
      if (!parsed.success) {
        throw new AppError('invalid', 'This decision cannot be taken', {
          details: 'Approve or deny, with a comment of at most 2,000 characters.',
        })
      }
      // In the transaction of the decision: a refused one leaves the link, a stored one ends it.
      return run(link, address, decideApproval, parsed.data, async (tx) => {
        if (!(await takeApprovalLink(tx, link.linkId, now()))) throw usedLink()
      })
    },
  }
}

function usedLink(): AppError {
  return new AppError('conflict', 'This link was used', {
    details: 'A link decides once. The console shows what happened.',
  })
}
