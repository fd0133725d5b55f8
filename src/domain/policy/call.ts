import type { Surface } from '../../contract/audit.ts'
import type { CallerKind } from '../../contract/caller-kinds.ts'
import type { Impact } from '../../contract/impact.ts'
import type { PolicyDecision } from '../../contract/policy-decision.ts'

/** The facts about an environment that rules match. */
export interface PolicyEnvironment {
  appEnvId: string
  envName: string
  /** Name of its app. */
  app: string
  labels: readonly string[]
  protected: boolean
}

/** Who makes a call, as rules and budgets know it. */
export interface PolicyCaller {
  kind: CallerKind
  userId: string | null
  membershipId: string | null
  tokenId: string | null
  /** Its name: as a person gave it, else as the agent calls itself. */
  agent: string | null
  /** What budgets of agents count by: no name that an agent gives itself. Null for callers that are no agents. */
  agentKey: string | null
  surface: Surface
}

/** Everything that a policy decides over: the same online, offline and in a replay. */
export interface PolicyCall {
  at: string
  accountId: string | null
  operation: string
  caller: PolicyCaller
  /** The environments that it affects, as they were before; those that it relabels also as they are after. */
  environments: readonly PolicyEnvironment[]
  impact: Impact
  /** Pauses agents: always possible, or the stop switch would be none. */
  isStopSwitch?: boolean
  /** When operations that rules name in `after` last succeeded, by `<operation> <appEnvId>`. */
  succeeded?: Readonly<Record<string, string>>
}

export function successKey(operation: string, appEnvId: string): string {
  return `${operation} ${appEnvId}`
}

/** What an audit entry keeps of a decided call: with the entry itself, everything that another policy would decide over. */
export interface DecisionRecord
  extends Pick<PolicyCaller, 'kind' | 'userId' | 'membershipId' | 'agentKey'>,
    Pick<PolicyCall, 'environments' | 'isStopSwitch'> {
  /** Null: there was no policy. */
  decision: PolicyDecision | null
  warnings: readonly string[]
}

export function decisionRecordOf(
  { caller, environments, isStopSwitch }: PolicyCall,
  decision: PolicyDecision | null,
  warnings: readonly string[],
): DecisionRecord {
  const { kind, userId, membershipId, agentKey } = caller
  return {
    kind,
    userId,
    membershipId,
    agentKey,
    environments,
    ...(isStopSwitch && { isStopSwitch }),
    decision,
    warnings,
  }
}
