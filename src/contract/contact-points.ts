import { z } from 'zod'
import {
  accountId,
  expectedRevision,
  foreignName,
  id,
  isoTime,
  line,
  message,
  processText,
  revision,
} from './fields.ts'
import { operation } from './operation.ts'

export const contactPointTypes = ['chat', 'incident', 'webhook', 'email'] as const
export type ContactPointType = (typeof contactPointTypes)[number]

export const severities = ['critical', 'error', 'warning', 'info'] as const
export type Severity = (typeof severities)[number]

const address = z.string().max(2048)
const contactPointName = line(50)

/**
 * The keys of all types; src/domain/alerts/contact-point.ts checks which keys a type takes. On update, an empty text
 * clears an optional value and the secret mask keeps a secret.
 */
const contactPointConfig = z.strictObject({
  webhookUrl: address.optional().describe('chat'),
  channel: foreignName(200).optional(),
  mentionUsers: z.array(line(100)).max(50).optional(),
  integrationKey: processText(200).optional().describe('incident'),
  severity: z.enum(severities).optional(),
  url: address.optional().describe('webhook'),
  httpMethod: z.enum(['POST', 'PUT']).optional(),
  username: processText(200).optional(),
  password: processText(1000).optional(),
  addresses: z.array(z.string().max(254)).max(50).optional().describe('email'),
})
export type ContactPointConfig = z.output<typeof contactPointConfig>

const contactPoint = z.object({
  contactPointId: z.string(),
  name: z.string(),
  type: z.enum(contactPointTypes),
  accountId: z.string(),
  config: contactPointConfig.optional(),
  monitoringDeployments: z.array(z.object({ region: z.string(), monitoringContactPointUid: z.string() })),
  createdAt: isoTime,
  updatedAt: isoTime,
  revision,
})
export type ContactPoint = z.output<typeof contactPoint>

const contactPointId = id.describe('Contact point id')
const listed = contactPoint.omit({ config: true })

export const listContactPoints = operation({
  id: 'list-contact-points',
  method: 'GET',
  path: '/contact-points',
  summary:
    'Lists the contact points of an account: where its alerts send notifications. Without their settings.',
  policy: { on: 'account' },
  input: z.strictObject({ accountId }),
  output: z.object({ contactPoints: z.array(listed) }),
})

export const getContactPoint = operation({
  id: 'get-contact-point',
  method: 'GET',
  path: '/contact-point',
  summary: 'Reads one contact point. Admins get its config with showSecrets.',
  policy: { on: 'contact-point' },
  input: z.strictObject({
    contactPointId,
    showSecrets: z.boolean().default(false).describe('Include config unmasked; admin'),
  }),
  output: contactPoint,
})

export const createContactPoint = operation({
  id: 'create-contact-point',
  method: 'POST',
  path: '/contact-point',
  summary:
    'Creates a contact point. config by type: chat webhookUrl, channel?, mentionUsers?; incident integrationKey, severity?; webhook url, httpMethod?, username?, password?; email addresses.',
  policy: { on: 'account', needs: 'admin' },
  input: z.strictObject({
    accountId,
    name: contactPointName,
    type: z.enum(contactPointTypes),
    config: contactPointConfig,
  }),
  output: z.object({
    ...message,
    contactPoint: listed,
    /** Webhooks only; shown this once. */
    signingSecret: z.string().optional(),
  }),
  answersCapability: true,
})

export const updateContactPoint = operation({
  id: 'update-contact-point',
  method: 'PATCH',
  path: '/contact-point',
  summary:
    'Renames a contact point or changes its config; omitted keys keep their values. A new url requires the password again.',
  policy: { on: 'contact-point', needs: 'admin' },
  input: z.strictObject({
    contactPointId,
    name: contactPointName.optional(),
    config: contactPointConfig.optional(),
    expectedRevision,
  }),
  ignored: ['type', 'accountId', 'monitoringDeployments', 'createdAt', 'updatedAt', 'revision'],
  output: z.object({ ...message, contactPoint: listed }),
})

export const rotateContactPointSecret = operation({
  id: 'rotate-contact-point-secret',
  method: 'POST',
  path: '/contact-point/secret',
  summary:
    'Creates a new signing secret for a webhook and shows it once. The previous one also signs for a while.',
  policy: { on: 'contact-point', needs: 'admin' },
  input: z.strictObject({
    contactPointId,
    overlapSeconds: z
      .number()
      .int()
      .min(0)
      .max(7 * 86_400)
      .default(86_400)
      .describe('How long the previous secret signs, too'),
    expectedRevision,
  }),
  output: z.object({ ...message, signingSecret: z.string(), previousValidUntil: isoTime.nullable() }),
  answersSecret: true,
  peopleOnly: true,
})

export const deleteContactPoint = operation({
  id: 'delete-contact-point',
  method: 'DELETE',
  path: '/contact-point',
  summary: 'Deletes a contact point. Refused while an alert uses it (X2).',
  policy: { on: 'contact-point', needs: 'admin' },
  input: z.strictObject({ contactPointId, expectedRevision }),
  output: z.object(message),
})

export const testContactPoint = operation({
  id: 'test-contact-point',
  method: 'POST',
  path: '/contact-point/test',
  summary: 'Sends a test notification to a contact point and reports whether it arrived.',
  policy: { on: 'contact-point', needs: 'admin' },
  input: z.strictObject({ contactPointId, expectedRevision }),
  output: z.object({
    delivered: z.boolean(),
    attempts: z.array(z.object({ at: isoTime, ok: z.boolean(), reason: z.string().optional() })),
  }),
})
