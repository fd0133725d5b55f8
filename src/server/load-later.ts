import type { Config } from '../config/config.ts'
import type { Log } from '../log.ts'

/**
 * Loads what the first use would load, once the platform is ready, so that the start stays quick. A first use at a moment
 * when no file can be opened would fail, and Node would not read the module again until a restart.
 */
export async function loadLater({ smtpUrl, oauth }: Config, log: Log): Promise<void> {
  const modules = [
    import('../http-client.ts'),
    import('./instances/peer-http.ts'),
    import('../engines/process/build/build.ts'),
    import('../api/examples.json', { with: { type: 'json' } }),
    ...(smtpUrl === undefined ? [] : [import('nodemailer')]),
    ...(oauth?.issuer ? [import('../oauth/external.ts')] : []),
  ]
  await Promise.all(modules).catch((error) => log.error({ err: error }, 'a module cannot be loaded'))
}
