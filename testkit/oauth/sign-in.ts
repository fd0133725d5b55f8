import { TestPlatform } from '../platform/test-platform.ts'
import { Person } from './person.ts'
import { RawClient } from './raw-client.ts'

export const callback = 'https://host.example.com/callback'

/** A platform where agents sign in, its admin at the console, and a client that is registered. */
export async function startSignIn() {
  const platform = await TestPlatform.start({ reconciles: false, oauth: {}, consoleDir: 'dist/console' })
  const person = await Person.signIn(platform, platform.admin.token)
  return { platform, person, client: await RawClient.register(platform.apiUrl, callback) }
}
