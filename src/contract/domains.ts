import { z } from 'zod'
import { environmentRef, isoTime, message } from './fields.ts'
import { operation } from './operation.ts'

export const domainStatuses = ['waiting-dns', 'validating', 'issuing', 'active', 'failed', 'removed'] as const
export const challengeTypes = ['http-01', 'tls-alpn-01', 'dns-01'] as const

const dnsRecord = z.object({ type: z.string(), name: z.string(), value: z.string() })

/** A host name of an environment, with its certificate (docs/interface.md#domains). */
export const domain = z.object({
  domain: z.string().describe('In ASCII'),
  appEnvId: z.string(),
  status: z.enum(domainStatuses),
  dns: z.object({
    expected: z.array(dnsRecord).describe('One of them is enough'),
    seen: z.array(dnsRecord),
    checkedAt: isoTime.nullable(),
  }),
  challenge: z.enum(challengeTypes),
  certificate: z
    .object({
      source: z.enum(['acme', 'uploaded']),
      issuer: z.string(),
      names: z.array(z.string()),
      notBefore: isoTime,
      notAfter: isoTime,
      renewAt: isoTime.nullable(),
      profile: z.string().nullable(),
    })
    .nullable(),
  lastError: z.object({ type: z.string(), detail: z.string(), retryAt: isoTime.nullable() }).nullable(),
  attempts: z.number().describe('Orders since the last certificate'),
  redirect: z.boolean(),
  hsts: z.boolean(),
})
export type Domain = z.output<typeof domain>

const name = z
  .string()
  .trim()
  .min(1)
  .max(255)
  .describe('Such as shop.example.com; *.example.com needs dns-01')
const certificate = z.strictObject({
  chain: z.string().min(1).max(100_000).describe('PEM: the certificate first'),
  key: z.string().min(1).max(20_000).describe('PEM'),
})

export const addAppEnvDomain = operation({
  id: 'add-app-env-domain',
  method: 'POST',
  path: '/app-env/domain',
  summary: 'Serves an environment under a domain; its certificate is ordered once the DNS leads here.',
  policy: { on: 'environment' },
  input: z.strictObject({
    ...environmentRef,
    domain: name,
    challenge: z.enum(challengeTypes).default('http-01'),
    certificate: certificate.optional().describe('Of your own; renewed by uploading the next one'),
    redirect: z.boolean().default(true).describe('http to https, once there is a certificate'),
    hsts: z.boolean().default(false).describe('Browsers then refuse http for a year'),
  }),
  output: z.object({ ...message, domain }),
})

export const listAppEnvDomains = operation({
  id: 'list-app-env-domains',
  method: 'GET',
  path: '/app-env/domains',
  summary: 'Lists the domains of an environment with their DNS, certificates and problems.',
  policy: { on: 'environment' },
  input: z.strictObject(environmentRef),
  output: z.object({ domains: z.array(domain) }),
})

export const verifyAppEnvDomain = operation({
  id: 'verify-app-env-domain',
  method: 'POST',
  path: '/app-env/domain/verify',
  summary: 'Checks the DNS of a domain now instead of later, and orders its certificate if none is there.',
  policy: { on: 'environment' },
  input: z.strictObject({ ...environmentRef, domain: name }),
  output: z.object({ ...message, domain }),
})

export const removeAppEnvDomain = operation({
  id: 'remove-app-env-domain',
  method: 'DELETE',
  path: '/app-env/domain',
  summary: 'Stops serving an environment under a domain, and deletes its certificate.',
  policy: { on: 'environment' },
  input: z.strictObject({ ...environmentRef, domain: name }),
  output: z.object({ ...message, domain }),
})

export const uploadAppEnvCertificate = operation({
  id: 'upload-app-env-certificate',
  method: 'PUT',
  path: '/app-env/domain/certificate',
  summary: 'Serves a domain with a certificate of your own in place of the present one.',
  policy: { on: 'environment' },
  input: z.strictObject({ ...environmentRef, domain: name, certificate }),
  output: z.object({ ...message, domain }),
  peopleOnly: true,
})
