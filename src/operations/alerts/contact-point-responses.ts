import { randomBytes } from 'node:crypto'
import { listed } from '../../amounts.ts'
import type { ContactPoint, ContactPointConfig } from '../../contract/contact-points.ts'
import {
  clearConfigOf,
  type StoredContactPoint,
  type StoredContactPointConfig,
  type StoredSigning,
  secretFieldsOf,
  signingName,
  signingPrefix,
  wantedConfig,
} from '../../domain/alerts/contact-point.ts'
import { AppError } from '../../errors.ts'
import { findContactPoint } from '../../store/repositories/contact-points.ts'
import type { Change, Context } from '../core/handler.ts'

/** 2.6; includes the config only if the caller may see it. */
export function contactPointResponse(
  context: Context,
  point: StoredContactPoint,
  showSecrets = false,
): ContactPoint {
  const { contactPointId, name, type, accountId, createdAt, updatedAt, revision } = point
  return {
    contactPointId,
    name,
    type,
    accountId,
    ...(showSecrets ? { config: clearConfigOf(point, context.secrets.open) } : {}),
    // Every region delivers notifications itself, so a contact point is deployed to all regions.
    monitoringDeployments: context.installation.regions().map(({ region }) => ({
      region,
      monitoringContactPointUid: `${region}-${contactPointId}`,
    })),
    createdAt,
    updatedAt,
    revision,
  }
}

/** The config to store after a write: encrypts new secrets and keeps unchanged ones in their encrypted form. */
export function sealedConfig(
  context: Context,
  point: Pick<StoredContactPoint, 'contactPointId' | 'type' | 'config'>,
  given: ContactPointConfig,
): StoredContactPointConfig {
  const { contactPointId, type, config: stored } = point
  const secret = secretFieldsOf(type)
  const isStored = (field: keyof ContactPointConfig, clear: string): boolean => {
    const sealed = stored[field]
    return (
      sealed !== undefined && context.secrets.open(sealed as string, `${contactPointId}/${field}`) === clear
    )
  }
  const wanted = wantedConfig({ type, stored, given, isStored })
  const sealed: StoredContactPointConfig = {}
  for (const [name, value] of Object.entries(wanted)) {
    const field = name as keyof ContactPointConfig
    if ('keep' in value) sealed[field] = value.keep
    else if (!secret.includes(field)) sealed[field] = value.clear
    else if (isStored(field, value.clear as string)) sealed[field] = stored[field] as string
    else sealed[field] = context.secrets.seal(value.clear as string, `${contactPointId}/${field}`)
  }
  return sealed
}

/** A new secret of a webhook, in clear and sealed. */
export function newSigning(
  context: Context,
  contactPointId: string,
): { secret: string; signing: StoredSigning } {
  const secret = `${signingPrefix}${randomBytes(32).toString('base64')}`
  return { secret, signing: { secret: context.secrets.seal(secret, signingName(contactPointId)) } }
}

export function contactPointChange(
  before: StoredContactPoint | null,
  after: StoredContactPoint | null,
): Change {
  const { contactPointId, accountId } = (after ?? before) as StoredContactPoint
  return { objectType: 'contact-point', objectId: contactPointId, accountId, before, after }
}

/** Contact points that an alert names, without duplicates, in the given order. All must exist in its account. */
export async function ownContactPoints(
  context: Context,
  accountId: string,
  contactPointIds: readonly string[],
): Promise<StoredContactPoint[]> {
  const found: StoredContactPoint[] = []
  const missing: string[] = []
  for (const contactPointId of new Set(contactPointIds)) {
    const point = await findContactPoint(context.tx, contactPointId)
    if (point?.accountId === accountId) found.push(point)
    else missing.push(contactPointId)
  }
  if (missing.length === 0) return found
  throw new AppError('invalid', 'Contact point not found', {
    details: `Not in this account: ${listed(missing)}. list-contact-points shows the valid contactPointIds.`,
  })
}
