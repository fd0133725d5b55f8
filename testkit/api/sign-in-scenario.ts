import { createPasskeys } from '../../src/operations/access/passkeys.ts'
import type { TestPlatform } from '../platform/test-platform.ts'
import { SoftAuthenticator } from '../sign-in/authenticator.ts'
import type { Call } from './scenario-call.ts'

/** A person's sessions and passkeys, and a user who leaves. */
export async function signInScenario(platform: TestPlatform, call: Call): Promise<void> {
  await platform.sessions.signIn({ token: platform.admin.token })
  await call('list-user-sessions')
  const site = { rpId: 'localhost', origin: 'http://localhost:4400' }
  const challenge = await createPasskeys(platform).forRegistration(site, platform.admin.userId)
  const credential = new SoftAuthenticator().register(challenge, site.origin)
  const { passkeyId } = await call('create-user-passkey', { name: 'Phone', credential })
  await call('list-user-passkeys')
  await call('remove-user-passkey', { passkeyId })
  await call('end-user-sessions')
  const { userId } = await platform.makeUser()
  await call('list-users', { limit: 2 })
  await call('remove-user', { userId })
}
