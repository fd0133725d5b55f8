import path from 'node:path'
import { z } from 'zod'
import { isTrustedProxy } from '../trusted-proxies.ts'
import { domain } from './file.ts'
import { flag } from './flag.ts'
import type { DomainSetting } from './regions.ts'

const portRange = 'must be a port number from 0 to 65535 (0 picks a free one)'
export const port = z.coerce
  .number({ error: portRange })
  .int({ error: portRange })
  .min(0, portRange)
  .max(65535, portRange)

/** Settings of the gateway and of the addresses that it serves. */
export const gatewaySettings = {
  LONGSHORE_GATEWAY_PORT: port.default(4480),
  LONGSHORE_GATEWAY_TLS_PORT: port.default(4443),
  LONGSHORE_TLS_CERTIFICATE: z.string().min(1).optional(),
  LONGSHORE_TLS_KEY: z.string().min(1).optional(),
  LONGSHORE_APP_DOMAIN: domain.default('app.localhost'),
  LONGSHORE_FUNCTION_DOMAIN: domain.default('fn.localhost'),
  LONGSHORE_PUBLIC_PORT: port.optional(),
  LONGSHORE_GATEWAY_PROCESSES: z.coerce
    .number({ error: 'must be a number from 1 to 64' })
    .int('must be a whole number')
    .min(1, 'must be a number from 1 to 64')
    .max(64, 'must be a number from 1 to 64')
    .optional(),
  LONGSHORE_TRUSTED_PROXIES: z
    .string()
    .transform((text) => text.split(',').map((one) => one.trim()))
    .refine(
      (list) => list.every(isTrustedProxy),
      'must be addresses, CIDRs or loopback, such as 10.0.0.0/8,loopback',
    )
    .default([]),
  LONGSHORE_PROXY_PROTOCOL: flag.default(false),
}

/** The files with the certificate of the platform's own names. */
export interface TlsSetting {
  /** Absolute paths of PEM files. */
  readonly certificate: string
  readonly key: string
}

export interface AddressSettings {
  /** Of machine regions, unless the configuration file has others. */
  readonly domains: DomainSetting
  /** The gateway's port for TLS. */
  readonly tlsPort: number
  /** The certificate of the platform's own names. */
  readonly tls: TlsSetting | undefined
  /** Peers of API and gateway whose headers about the client are believed. */
  readonly trustedProxies: readonly string[]
  /** Connections of those peers to the gateway begin with a header of the PROXY protocol, version 2. */
  readonly proxyProtocol: boolean
}

export function addressesOf(
  value: z.output<z.ZodObject<typeof gatewaySettings>>,
  workingDir: string,
): AddressSettings {
  const { LONGSHORE_TLS_CERTIFICATE: certificate, LONGSHORE_TLS_KEY: key } = value
  return {
    domains: {
      appDomain: value.LONGSHORE_APP_DOMAIN,
      functionDomain: value.LONGSHORE_FUNCTION_DOMAIN,
      publicPort: value.LONGSHORE_PUBLIC_PORT,
    },
    tlsPort: value.LONGSHORE_GATEWAY_TLS_PORT,
    trustedProxies: value.LONGSHORE_TRUSTED_PROXIES,
    proxyProtocol: value.LONGSHORE_PROXY_PROTOCOL,
    tls:
      certificate === undefined || key === undefined
        ? undefined
        : {
            certificate: path.resolve(workingDir, certificate),
            key: path.resolve(workingDir, key),
          },
  }
}
