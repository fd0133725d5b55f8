import { z } from 'zod'
import { AppError } from '../errors.ts'
import { isLoopback, isProtected, isServiceAddress, serviceAddressHint } from '../loopback.ts'

/** Sign-in of agents at `/mcp`, null: off. `issuer` is the external authorization server, null: the embedded one. */
export type OAuthSetting = { readonly issuer: string | null } | null

export const oauthSettings = {
  LONGSHORE_OAUTH: z
    .enum(['off', 'embedded', 'external'], { error: 'must be off, embedded or external' })
    .default('off'),
  LONGSHORE_OAUTH_ISSUER: z
    .url({ protocol: /^https?$/, error: 'must be the https address of the authorization server' })
    .refine(isServiceAddress, serviceAddressHint)
    .optional(),
}

/** Clients compare the addresses of OAuth with the one they use, so the public address must be known. */
export function oauthOf(value: {
  LONGSHORE_OAUTH: 'off' | 'embedded' | 'external'
  LONGSHORE_OAUTH_ISSUER?: string | undefined
  LONGSHORE_PUBLIC_URL?: string | undefined
  LONGSHORE_HOST: string
}): OAuthSetting {
  const { LONGSHORE_OAUTH: mode, LONGSHORE_OAUTH_ISSUER: issuer, LONGSHORE_PUBLIC_URL: publicUrl } = value
  const problem =
    mode === 'external' && issuer === undefined
      ? 'LONGSHORE_OAUTH: external needs LONGSHORE_OAUTH_ISSUER, the address of the authorization server'
      : mode !== 'external' && issuer !== undefined
        ? 'LONGSHORE_OAUTH_ISSUER: needs LONGSHORE_OAUTH=external'
        : mode !== 'off' && publicUrl === undefined && !isLoopback(value.LONGSHORE_HOST)
          ? 'LONGSHORE_OAUTH: needs LONGSHORE_PUBLIC_URL, because LONGSHORE_HOST is not loopback'
          : mode !== 'off' && publicUrl !== undefined && !isProtected(new URL(publicUrl))
            ? 'LONGSHORE_PUBLIC_URL: must be https for LONGSHORE_OAUTH, because tokens pass over it'
            : null
  if (problem) throw new AppError('invalid', 'Configuration cannot be used', { details: problem })
  return mode === 'off' ? null : { issuer: issuer ?? null }
}
