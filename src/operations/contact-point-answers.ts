import type { ContactPoint, ContactPointConfig } from '../contract/contact-points.ts'
import {
  clearConfigOf,
  type StoredContactPoint,
  type StoredContactPointConfig,
  secretFieldsOf,
  wantedConfig,
} from '../domain/contact-point.ts'
import { AppError } from '../errors.ts'
import { findContactPoint } from '../store/contact-points.ts'
import type { Change, Context } from './handler.ts'

/** 2.6, its config only where the caller may see it. */
export function contactPointAnswer(
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
    // Every region of this installation delivers by itself: a contact point is deployed to all of them.
    monitoringDeployments: context.installation.regions().map(({ region }) => ({
      region,
      monitoringContactPointUid: `${region}-${contactPointId}`,
    })),
    createdAt,
    updatedAt,
    revision,
  }
}

/** The config to store after a write: new secrets sealed, unchanged ones in the form they have. */
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

export function contactPointChange(
  before: StoredContactPoint | null,
  after: StoredContactPoint | null,
): Change {
  const { contactPointId, accountId } = (after ?? before) as StoredContactPoint
  return { objectType: 'contact-point', objectId: contactPointId, accountId, before, after }
}

/** Contact points that an alert names: all must exist in its account. Each once, in the order given. */
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
    details: `contactPointIds names what the account does not have: ${missing.join(', ')}. list-contact-points shows them.`,
  })
}
