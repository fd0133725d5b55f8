import type { SignInOptions } from '../api/sign-in-routes.ts'
import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import { createConsoleSessions } from '../operations/access/console-sessions.ts'
import { createMailedLinks } from '../operations/access/mailed-links.ts'
import { createPasskeys } from '../operations/access/passkeys.ts'
import type { Db } from '../store/db.ts'
import type { SecretBox } from '../store/secrets/secret-box.ts'

interface SignInDeps {
  db: Db
  clock: Clock
  log: Log
  secrets: SecretBox
  publicUrl: string | undefined
  /** A sign-in link is due; null: no mail server is configured. */
  wakeMail: (() => void) | null
}

/** Sessions of people, and the ways to open one that are configured. */
export function openSignIn({ wakeMail, publicUrl, ...deps }: SignInDeps): Omit<SignInOptions, 'allowsLinks'> {
  return {
    sessions: createConsoleSessions(deps),
    publicUrl,
    passkeys: createPasskeys(deps),
    mailedLinks: wakeMail ? createMailedLinks({ ...deps, wake: wakeMail }) : undefined,
  }
}
