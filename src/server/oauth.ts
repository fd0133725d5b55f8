import { createFetchDocument } from '../alerting/notifiers/fetch-document.ts'
import { timestamp } from '../clock.ts'
import type { OAuthSetting } from '../config/oauth.ts'
import { environmentsIn } from '../domain/access/agent-limits.ts'
import type { ToolPolicy } from '../mcp/policy/tool-policy.ts'
import type { McpOAuth } from '../mcp/transport/http/oauth.ts'
import type { McpHttpOptions } from '../mcp/transport/http/options.ts'
import { addressesOf } from '../oauth/addresses.ts'
import type { FetchDocument } from '../oauth/clients.ts'
import { GrantCredentials } from '../oauth/grant-credentials.ts'
import { createOAuthResource, embeddedGrants, type FindGrant } from '../oauth/resource.ts'
import { createEmbeddedServer, type OAuthRoutes } from '../oauth/server.ts'
import type { OperationRunner } from '../operations/core/call.ts'
import { type CredentialKind, grantIn } from '../operations/core/caller.ts'
import { permissionsOf } from '../operations/core/permissions.ts'
import { noteStepUp, type StoredGrant } from '../store/repositories/oauth-grants.ts'
import type { SecretBox } from '../store/secrets/secret-box.ts'
import type { Platform } from './platform.ts'

interface OAuthDeps extends Pick<Platform, 'db' | 'clock' | 'log'> {
  secrets: SecretBox
  setting: NonNullable<OAuthSetting>
  publicUrl: string | undefined
  apiUrl: () => string
  fetchDocument: FetchDocument
  /** Reaches private addresses too, for the operator's own authorization server. */
  fetchTrusted: FetchDocument
  keyCooldownMs?: number
}

/** Sign-in of agents: its routes, and its sides towards `/mcp` and the API. */
export interface OAuth {
  routes: OAuthRoutes
  mcp: McpOAuth
  grantOf: (credential: string) => string | null
}

export function openOAuth(deps: OAuthDeps): OAuth {
  const addresses = addressesOf(deps.publicUrl, deps.apiUrl)
  const credentials = new GrantCredentials()
  const { issuer: external } = deps.setting
  const find = external === null ? embeddedGrants(deps) : grantsOfIssuer(external, deps)
  const resource = createOAuthResource({ addresses, credentials, find })
  const server = external === null ? createEmbeddedServer(deps) : null
  return {
    routes: { addresses, issuerOf: ({ issuer }) => external ?? issuer, server },
    grantOf: (credential) => credentials.read(credential),
    mcp: {
      challenge: resource.challenge,
      async needsMore(token, scopes) {
        const grant = credentials.read(token)
        if (grant === null || server === null) return
        const wanted = { at: timestamp(deps.clock.wallMs()), scopes }
        await deps.db.write((tx) => noteStepUp(tx, grantIn(grant).tokenId, wanted))
      },
      async admit(token, host) {
        const agent = await resource.admit(token, host)
        if (agent === null) return null
        const limits = limitsOf(agent.grant)
        // An external server decides with scopes alone, and its host may request more of them.
        if (external !== null) return { token: agent.token, limits: { ...limits, readOnly: false } }
        return { token: agent.token, limits, declined: agent.grant.limits.declined ?? [] }
      },
    },
  }
}

/** Its library is loaded by the first token. */
function grantsOfIssuer(issuer: string, deps: OAuthDeps): FindGrant {
  let loaded: Promise<FindGrant> | undefined
  return async (token, resource) => {
    loaded ??= import('../oauth/external.ts').then(({ externalGrants }) =>
      externalGrants({ ...deps, issuer, fetchDocument: deps.fetchTrusted }),
    )
    return (await loaded)(token, resource)
  }
}

/** OAuth as the configuration says; undefined: off. */
export function oauthOf(platform: Platform, apiUrl: () => string): OAuth | undefined {
  const { clock, config } = platform
  const { oauth: setting, publicUrl, allowPrivateWebhooks: allowPrivate } = config
  if (setting === null) return undefined
  const fetchDocument = createFetchDocument({ clock, allowPrivate })
  const fetchTrusted = createFetchDocument({ clock, allowPrivate: true })
  return openOAuth({ ...platform, setting, publicUrl, apiUrl, fetchDocument, fetchTrusted })
}

/** Looks up the caller and the permissions of a token for `/mcp`. A grant is looked up by its id. */
export function mcpAccess(
  platform: Pick<Platform, 'db' | 'clock'>,
  runner: OperationRunner,
  oauth: OAuth | undefined,
): Required<Pick<McpHttpOptions, 'authenticate' | 'permissions'>> & Pick<McpHttpOptions, 'oauth'> {
  const credentialOf = (token: string): { token: string; credential: CredentialKind } => {
    const grant = oauth?.grantOf(token) ?? null
    return grant === null ? { token, credential: 'token' } : { token: grant, credential: 'grant' }
  }
  return {
    oauth: oauth?.mcp,
    authenticate: (token, address) => {
      const { token: presented, credential } = credentialOf(token)
      return runner.authenticate(presented, { address, reads: true, credential })
    },
    permissions: (token) => permissionsOf(platform, credentialOf(token)),
  }
}

function limitsOf({ limits: { readOnly, groups, pin: scope }, scopes }: StoredGrant): Partial<ToolPolicy> {
  const { account, app, env } = scope
  return {
    readOnly,
    groups,
    scope: { account, app, env },
    environments: environmentsIn(scope),
    scopes,
    allowSecrets: scopes.includes('secrets:read'),
  }
}
