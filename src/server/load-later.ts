import type { Config } from '../config/config.ts'
import type { Log } from '../log.ts'

/**
 * Loads these modules once the platform is ready, so that the start stays quick. If they were loaded at their first use, and
 * no file could be opened just then, the load would fail, and Node would not repeat it until a restart.
 */
export async function loadLater({ smtpUrl, oauth, oidc, publicUrl }: Config, log: Log): Promise<void> {
  const modules = [
    import('../http-client.ts'),
    import('./instances/peer-http.ts'),
    import('../engines/process/build/build.ts'),
    import('../api/examples.json', { with: { type: 'json' } }),
    ...(smtpUrl === undefined ? [] : [import('nodemailer')]),
    ...(publicUrl === undefined ? [] : [import('@simplewebauthn/server')]),
    ...(oidc === null ? [] : [import('openid-client')]),
    ...(oauth?.issuer ? [import('../oauth/external.ts')] : []),
  ]
  await Promise.all(modules).catch((error) => log.error({ err: error }, 'a module cannot be loaded'))
}
