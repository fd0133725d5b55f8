import type { GroupPermission } from '../../contract/sign-in.ts'
import { AppError } from '../../errors.ts'

/** A person as the provider describes them, in a signed ID token. */
export interface OidcPerson {
  issuer: string
  subject: string
  /** As the provider wrote it; null unless the provider verified it. */
  email: string | null
  name: string | null
  groups: readonly string[]
  /** When the provider last checked who they are; null: it does not say. */
  authenticatedAt: string | null
  /** Of this attempt, to be used once. */
  state: string
  stateExpiresAt: string
}

/** Whom the operator lets in (LONGSHORE_OIDC_DOMAINS and _GROUPS). */
export interface OidcRules {
  /** Domains of the addresses that may sign in, in ASCII and small letters; empty: those of existing users. */
  domains: readonly string[]
  /** What the groups of the provider give in the first account, most first. */
  groups: readonly { group: string; permission: GroupPermission }[]
}

/** The same bytes in each case. */
export function notSignedIn(): AppError {
  return new AppError('unauthenticated', 'You are not signed in', {
    details:
      'The provider refused, the attempt took too long, or this installation does not know you. Try again, or ask an admin.',
  })
}
