/** Who acts: a person, an agent, the token of an environment, or a remediation (docs/autonomy.md#callers). */
export const callerKinds = ['person', 'agent', 'environment', 'remediation'] as const
export type CallerKind = (typeof callerKinds)[number]
