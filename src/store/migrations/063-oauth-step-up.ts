import type { Migration } from './migration.ts'

/**
 * `wanted`: the scopes that an agent was last refused for, and when. `successor`: the pair that a used refresh token was
 * exchanged for, sealed with that token, for a second program that presents it at the same time.
 */
export const oauthStepUp: Migration = {
  name: 'oauth step up',
  statements: [
    'alter table oauth_grants add column wanted text',
    'alter table oauth_secrets add column successor text',
    'create index oauth_grants_client on oauth_grants (user_id, client_id)',
  ],
}
