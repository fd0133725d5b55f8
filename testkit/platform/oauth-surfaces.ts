import { createFetchDocument } from '../../src/alerting/notifiers/fetch-document.ts'
import type { ApiServerOptions } from '../../src/api/server.ts'
import { type Clock, systemClock } from '../../src/clock.ts'
import type { Log } from '../../src/log.ts'
import { createMcpHttpHandler } from '../../src/mcp/transport/http/handler.ts'
import type { OperationRunner } from '../../src/operations/core/call.ts'
import { mcpAccess, openOAuth } from '../../src/server/oauth.ts'
import type { Db } from '../../src/store/db.ts'
import type { SecretBox } from '../../src/store/secrets/secret-box.ts'
import { tools } from '../../tools/index.ts'
import type { TestPlatformOptions } from './options.ts'

interface Served {
  db: Db
  clock: Clock
  secrets: SecretBox
  log: Log
  apiUrl: string
}

/** /mcp and sign-in of agents, wired as `serve` does. */
export function oauthSurfaces(
  platform: Served,
  runner: OperationRunner,
  { issuer, publicUrl, fetchDocument, toolPolicy }: NonNullable<TestPlatformOptions['oauth']>,
): Pick<ApiServerOptions, 'mcp' | 'oauth'> {
  const { db, clock, secrets, log } = platform
  const apiUrl = () => platform.apiUrl
  const oauth = openOAuth({
    ...{ db, clock, log, secrets, publicUrl, apiUrl },
    setting: { issuer: issuer ?? null },
    fetchDocument: fetchDocument ?? (() => Promise.reject(new Error('no network in this test'))),
    fetchTrusted: createFetchDocument({ clock: systemClock, allowPrivate: true }),
    keyCooldownMs: 0,
  })
  const access = mcpAccess({ db, clock }, runner, oauth)
  return {
    mcp: createMcpHttpHandler({
      ...{ registry: tools, apiUrl, log, clock, ...access },
      ...(toolPolicy ? { toolPolicy } : {}),
    }),
    oauth: { ...oauth.routes, grantOf: oauth.grantOf },
  }
}
