import { z } from 'zod'
import { isTrustedProxy } from '../trusted-proxies.ts'
import { domain } from './file.ts'
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
}

/** The domains of machine regions. */
export function domainsOf(
  value: Pick<
    z.output<z.ZodObject<typeof gatewaySettings>>,
    'LONGSHORE_APP_DOMAIN' | 'LONGSHORE_FUNCTION_DOMAIN' | 'LONGSHORE_PUBLIC_PORT'
  >,
): DomainSetting {
  return {
    appDomain: value.LONGSHORE_APP_DOMAIN,
    functionDomain: value.LONGSHORE_FUNCTION_DOMAIN,
    publicPort: value.LONGSHORE_PUBLIC_PORT,
  }
}
