import type { SignInOptions } from '../api/sign-in-routes.ts'
import type { Clock } from '../clock.ts'
import type { OidcSetting } from '../config/oidc.ts'
import type { OidcPerson } from '../domain/access/oidc-person.ts'
import type { Log } from '../log.ts'
import { createOidcClient } from '../oauth/oidc-client.ts'
import { createConsoleSessions } from '../operations/access/console-sessions.ts'
import { createMailedLinks } from '../operations/access/mailed-links.ts'
import { claimOfPerson } from '../operations/access/oidc-claim.ts'
import { createPasskeys } from '../operations/access/passkeys.ts'
import type { Db } from '../store/db.ts'
import type { SecretBox } from '../store/secrets/secret-box.ts'

interface SignInDeps {
  db: Db
  clock: Clock
  log: Log
  secrets: SecretBox
  publicUrl: string | undefined
  oidc: OidcSetting
  /** A sign-in link is due; null: no mail server is configured. */
  wakeMail: (() => void) | null
}

/** Sessions of people, and the ways to open one that are configured. */
export function openSignIn({
  wakeMail,
  publicUrl,
  oidc,
  ...deps
}: SignInDeps): Omit<SignInOptions, 'allowsLinks'> {
  return {
    sessions: createConsoleSessions(deps),
    publicUrl,
    passkeys: createPasskeys(deps),
    oidc: oidc === null ? undefined : oidcOf(deps, oidc),
    mailedLinks: wakeMail ? createMailedLinks({ ...deps, wake: wakeMail }) : undefined,
  }
}

function oidcOf(deps: Pick<SignInDeps, 'secrets' | 'clock' | 'log'>, setting: NonNullable<OidcSetting>) {
  const { secrets } = deps
  return {
    client: createOidcClient({ ...deps, setting }),
    claim: (person: OidcPerson) => claimOfPerson({ person, setting, secrets }),
  }
}
