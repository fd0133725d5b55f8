import { isIP } from 'node:net'
import path from 'node:path'
import { z } from 'zod'
import { Secret } from '../log.ts'

const letsEncrypt = 'https://acme-v02.api.letsencrypt.org/directory'

/** Settings of certificates for domains of environments. */
export const acmeSettings = {
  LONGSHORE_ACME_URL: z
    .url({ protocol: /^https$/, error: 'must be an https URL of an ACME directory' })
    .optional(),
  LONGSHORE_ACME_EMAIL: z.email('must be an e-mail address').optional(),
  LONGSHORE_ACME_PROFILE: z
    .string()
    .regex(/^[a-zA-Z0-9._-]{1,64}$/, 'must be the name of a profile, such as shortlived')
    .optional(),
  LONGSHORE_ACME_CA_FILE: z.string().min(1).optional(),
  LONGSHORE_DNS_HOOK: z
    .string()
    .min(1)
    .refine(
      (hook) => !/^[a-z\d]+:\/\//.test(hook),
      'must be a program; URLs such as rfc2136:// are not supported',
    )
    .optional(),
  LONGSHORE_DNS_SERVERS: z
    .string()
    .transform((text) => text.split(',').map((one) => one.trim()))
    .refine(
      (list) => list.every((one) => isIP(one.replace(/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2')) !== 0),
      'must be addresses with ports, such as 10.0.0.2,10.0.0.3:5353',
    )
    .optional(),
}

interface AcmeSetting {
  readonly url: string
  readonly email: string | undefined
  readonly profile: string | undefined
  /** PEM file with roots that are trusted beside those of Node. */
  readonly caFile: string | undefined
}

export interface CertificateSettings {
  /** Where certificates for domains are ordered; null: they are not, because the operator has to agree to an account. */
  readonly acme: AcmeSetting | null
  /** A program that sets TXT records: `<hook> present|cleanup <name> <value>`. */
  readonly dnsHook: Secret | undefined
  /** Undefined: those of the machine. */
  readonly dnsServers: readonly string[] | undefined
}

export function acmeOf(
  value: z.output<z.ZodObject<typeof acmeSettings>>,
  workingDir: string,
): CertificateSettings {
  const { LONGSHORE_ACME_URL: url, LONGSHORE_ACME_EMAIL: email, LONGSHORE_ACME_CA_FILE: caFile } = value
  return {
    acme:
      url === undefined && email === undefined
        ? null
        : {
            url: url ?? letsEncrypt,
            email,
            profile: value.LONGSHORE_ACME_PROFILE,
            caFile: caFile === undefined ? undefined : path.resolve(workingDir, caFile),
          },
    dnsHook: value.LONGSHORE_DNS_HOOK === undefined ? undefined : new Secret(value.LONGSHORE_DNS_HOOK),
    dnsServers: value.LONGSHORE_DNS_SERVERS,
  }
}
