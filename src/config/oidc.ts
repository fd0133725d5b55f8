import { z } from 'zod'
import { type GroupPermission, groupPermissions } from '../contract/sign-in.ts'
import { AppError } from '../errors.ts'
import { Secret } from '../log.ts'
import { isLoopback, isServiceAddress, serviceAddressHint } from '../loopback.ts'

/** Sign-in of people by OpenID Connect; null: off. */
export type OidcSetting = {
  readonly issuer: string
  readonly clientId: string
  /** Null: a public client. */
  readonly clientSecret: Secret | null
  /** On the button of the sign-in page. */
  readonly name: string
  /** Of addresses that may sign in; empty: any of existing users. */
  readonly domains: readonly string[]
  /** Most permission first. */
  readonly groups: readonly { group: string; permission: GroupPermission }[]
} | null

export interface OidcSettings {
  readonly oidc: OidcSetting
}

export const oidcSettings = {
  LONGSHORE_OIDC_ISSUER: z
    .url({ protocol: /^https?$/, error: 'must be the https address of the provider' })
    .refine(isServiceAddress, serviceAddressHint)
    .optional(),
  LONGSHORE_OIDC_CLIENT_ID: z.string().min(1).max(300).optional(),
  LONGSHORE_OIDC_CLIENT_SECRET: z.string().min(1).max(2_000).optional(),
  LONGSHORE_OIDC_NAME: z.string().min(1).max(60).optional(),
  LONGSHORE_OIDC_DOMAINS: z
    .string()
    .regex(
      /^[a-z0-9-]+(?:\.[a-z0-9-]+)+(?:,[a-z0-9-]+(?:\.[a-z0-9-]+)+)*$/,
      'must be domains in small letters, such as example.com,example.org',
    )
    .optional(),
  LONGSHORE_OIDC_GROUPS: z
    .string()
    .regex(
      /^[^,=]+=(?:admin|manageMembers|member)(?:,[^,=]+=(?:admin|manageMembers|member))*$/,
      'must be groups with what they give, such as ops=admin,people=manageMembers,devs=member',
    )
    .optional(),
}

type Values = { [Name in keyof typeof oidcSettings]?: string | undefined } & {
  LONGSHORE_PUBLIC_URL?: string | undefined
  LONGSHORE_HOST: string
}

/** The provider sends people back to the public address, so it must be known. */
export function oidcOf(value: Values): OidcSettings {
  const { LONGSHORE_OIDC_ISSUER: issuer, LONGSHORE_OIDC_CLIENT_ID: clientId } = value
  const others = Object.keys(oidcSettings).filter((name) => value[name as keyof Values] !== undefined)
  if (others.length === 0) return { oidc: null }
  const problem =
    issuer === undefined || clientId === undefined
      ? `${others[0]}: needs LONGSHORE_OIDC_ISSUER and LONGSHORE_OIDC_CLIENT_ID`
      : value.LONGSHORE_PUBLIC_URL === undefined && !isLoopback(value.LONGSHORE_HOST)
        ? 'LONGSHORE_OIDC_ISSUER: needs LONGSHORE_PUBLIC_URL, because LONGSHORE_HOST is not loopback'
        : null
  if (problem) throw new AppError('invalid', 'Configuration cannot be used', { details: problem })
  const { LONGSHORE_OIDC_CLIENT_SECRET: secret, LONGSHORE_OIDC_NAME: name } = value
  const groups = (value.LONGSHORE_OIDC_GROUPS?.split(',') ?? []).map((one) => {
    const [group = '', permission] = one.split('=')
    return { group: group.trim(), permission: permission as GroupPermission }
  })
  const rank = ({ permission }: { permission: GroupPermission }) => groupPermissions.indexOf(permission)
  return {
    oidc: {
      issuer: issuer!,
      clientId: clientId!,
      clientSecret: secret === undefined ? null : new Secret(secret),
      name: name ?? new URL(issuer!).host,
      domains: value.LONGSHORE_OIDC_DOMAINS?.split(',') ?? [],
      groups: groups.sort((one, other) => rank(one) - rank(other)),
    },
  }
}
