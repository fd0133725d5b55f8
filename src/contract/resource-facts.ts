export type Permission = 'admin' | 'manageMembers'

/** The levels to which a person can limit an MCP server or an agent, from wide to narrow. */
export const scopeLevels = ['account', 'app', 'env'] as const
export type ScopeLevel = (typeof scopeLevels)[number]

/** The narrowest limit under which tools exist; null: under none. */
export interface ToolScope {
  reads: ScopeLevel | null
  writes: ScopeLevel | null
}

/** Facts about an object type that every part of the program may use. */
export interface ResourceFacts {
  /** As in "Job run not found". */
  noun: string
  idPrefix: string
  /** Inputs that name an object of this type; the first one given counts. Empty: no input does. */
  idFields: readonly string[]
  /** Advice for "not found", when checking the id is not enough. */
  idHint?: string
  /** The operation that shows the ids. */
  listedBy?: string
  /** `objectType` in the audit log. */
  auditName: string
  /** The parent. It is loaded with the object, and hides the object from members who may not see the parent (M2). */
  in: 'account' | 'app' | 'environment'
  /** Its environment may be gone, so only its account is loaded with it. */
  outlivesEnvironment?: true
  /** The input names this as well, and access to it is decided first. */
  through?: 'account'
  /** Its key among the objects of a handler, and in the answer of `readBy`. Left out if no policy is on this type. */
  key?: string
  /** Every policy on this type asks for it. */
  alwaysNeeds?: Permission
  /** The read that shows the account, app or environment it belongs to, for types that are none of these themselves. */
  readBy?: string
  toolScope?: ToolScope
}
