import type { ContactPointConfig, ContactPointType, Severity } from '../../contract/contact-points.ts'
import { secretMask } from '../../contract/fields.ts'
import { AppError } from '../../errors.ts'

type Field = keyof ContactPointConfig

/** As stored: secret fields are sealed by the secret box, bound to `<contactPointId>/<field>`. */
export interface StoredContactPoint {
  contactPointId: string
  accountId: string
  name: string
  type: ContactPointType
  config: StoredContactPointConfig
  /** Webhooks only: the secrets that sign notifications, sealed. Absent: created before there were any. */
  signing?: StoredSigning
  createdAt: string
  updatedAt: string
  revision: number
}
export interface StoredSigning {
  secret: string
  /** The secret before a rotation, which also signs until then. */
  previous?: { secret: string; until: string }
}

/** Before the base64 of a secret (Standard Webhooks). */
export const signingPrefix = 'whsec_'

/** What the signing secrets of a contact point are sealed for. */
export function signingName(contactPointId: string): string {
  return `${contactPointId}/secret`
}
export type StoredContactPointConfig = Partial<Record<Field, string | string[]>>

interface Shape {
  required: readonly Field[]
  optional: readonly Field[]
  /** URLs that allow anyone to post are secrets too. */
  secret: readonly Field[]
}

const shapes: Readonly<Record<ContactPointType, Shape>> = {
  chat: { required: ['webhookUrl'], optional: ['channel', 'mentionUsers'], secret: ['webhookUrl'] },
  incident: { required: ['integrationKey'], optional: ['severity'], secret: ['integrationKey'] },
  webhook: {
    required: ['url'],
    optional: ['httpMethod', 'username', 'password'],
    secret: ['url', 'password'],
  },
  email: { required: ['addresses'], optional: [], secret: [] },
}

export function secretFieldsOf(type: ContactPointType): readonly Field[] {
  return shapes[type].secret
}

/** A field after a write: the stored value, or a new one. */
type WantedField = { keep: string | string[] } | { clear: string | string[] }
type WantedConfig = Partial<Record<Field, WantedField>>

/**
 * The config after a write (2.6): omitted keys stay, an empty value clears, the mask keeps. Rejects keys of other
 * types, missing keys and invalid values. `isStored` reports whether a value equals the stored one.
 */
export function wantedConfig(options: {
  type: ContactPointType
  stored: StoredContactPointConfig
  given: ContactPointConfig
  isStored: (field: Field, clear: string) => boolean
}): WantedConfig {
  const { type, stored, given, isStored } = options
  const shape = shapes[type]
  const known = [...shape.required, ...shape.optional]
  refuseOtherKeys(type, known, given)
  const wanted: WantedConfig = {}
  for (const field of known) {
    const value = given[field]
    const before = stored[field]
    if (value === undefined || isMask(field, value, shape)) {
      if (value !== undefined && before === undefined) throw nothingToKeep(field)
      if (before !== undefined) wanted[field] = { keep: before }
    } else if (value.length > 0) {
      refuseMask(field, value, shape)
      checkValue(field, value)
      wanted[field] = { clear: value }
    }
  }
  for (const field of shape.required) {
    if (!wanted[field]) throw invalid(`config.${field} is required for type ${type}`)
  }
  refuseAddressWithoutSecret(wanted, isStored)
  return wanted
}

function refuseOtherKeys(type: ContactPointType, known: readonly Field[], given: ContactPointConfig): void {
  const foreign = (Object.keys(given) as Field[]).filter((key) => !known.includes(key))
  if (foreign.length === 0) return
  const named = foreign.map((key) => `config.${key}`).join(', ')
  throw invalid(`unknown key ${named} for type ${type}: it takes ${known.join(', ')}`)
}

function isMask(field: Field, value: string | string[], shape: Shape): boolean {
  return value === secretMask && shape.secret.includes(field)
}

/** A value copied from a masked read would store the mask in place of the secret. */
function refuseMask(field: Field, value: string | string[], shape: Shape): void {
  if (![value].flat().some((text) => text.includes(secretMask))) return
  throw invalid(
    shape.secret.includes(field)
      ? `config.${field}: contains ${secretMask}, which stands for a secret that was not shown. Send exactly ${secretMask} or leave the key out to keep the stored value, else the whole value`
      : `config.${field}: contains ${secretMask}, which stands for a secret that was not shown. Leave the key out to keep the stored value, else send the whole value`,
  )
}

function refuseAddressWithoutSecret(
  wanted: WantedConfig,
  isStored: (field: Field, clear: string) => boolean,
): void {
  const { url, password } = wanted
  if (!url || !('clear' in url) || !password || 'clear' in password) return
  if (isStored('url', url.clear as string)) return
  throw new AppError('invalid', 'The password is needed again', {
    details:
      'config.url changes only together with its secret: send config.password too, or an empty one to clear it.',
  })
}

const urlFields: readonly Field[] = ['webhookUrl', 'url']

function checkValue(field: Field, value: string | string[]): void {
  if (urlFields.includes(field)) checkUrl(field, value as string)
  if (field === 'addresses') for (const address of value) checkEmail(address)
  if (field === 'integrationKey' && !/^[\x21-\x7e]+$/.test(value as string)) {
    throw invalid('config.integrationKey: must be letters, digits and signs without spaces')
  }
}

function checkUrl(field: Field, text: string): void {
  const url = URL.canParse(text) && !/[\s\u0000-\u001f]/.test(text) ? new URL(text) : null
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw invalid(`config.${field}: must be an http or https address`)
  }
  if (url.username || url.password) {
    throw invalid(`config.${field}: must not carry a user name or password; use username and password`)
  }
}

/** One plain address without display name, comment or list, so that no header can be injected. */
const emailPattern =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?=.{1,253}$)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/

function checkEmail(address: string): void {
  if (!emailPattern.test(address)) throw invalid('config.addresses: each must be an e-mail address')
}

function nothingToKeep(field: Field): AppError {
  return invalid(`config.${field}: ${secretMask} means "keep the stored value", and there is none yet`)
}

function invalid(details: string): AppError {
  return new AppError('invalid', 'Invalid request', { details })
}

/** A destination with its secrets in clear, the input of notifiers. */
export type Receiver =
  | { type: 'chat'; config: { webhookUrl: string; channel?: string; mentionUsers?: string[] } }
  | { type: 'incident'; config: { integrationKey: string; severity?: Severity } }
  | {
      type: 'webhook'
      config: { url: string; httpMethod?: 'POST' | 'PUT'; username?: string; password?: string }
      /** In clear, the newest first. */
      signingSecrets: string[]
    }
  | { type: 'email'; config: { addresses: string[] } }

/** `open` unseals a value bound to `<contactPointId>/<field>`. */
export function clearConfigOf(
  point: StoredContactPoint,
  open: (sealed: string, boundTo: string) => string,
): ContactPointConfig {
  const secret = secretFieldsOf(point.type)
  return Object.fromEntries(
    Object.entries(point.config).map(([field, value]) => [
      field,
      secret.includes(field as Field) ? open(value as string, `${point.contactPointId}/${field}`) : value,
    ]),
  )
}

export function receiverOf(
  point: StoredContactPoint,
  open: (sealed: string, boundTo: string) => string,
  nowMs: number,
): Receiver {
  const { type, contactPointId, signing } = point
  const config = clearConfigOf(point, open)
  if (type !== 'webhook') return { type, config } as Receiver
  const { secret, previous } = signing ?? {}
  const sealed = [secret, previous && Date.parse(previous.until) > nowMs ? previous.secret : undefined]
  const signingSecrets = sealed
    .filter((one) => one !== undefined)
    .map((one) => open(one, signingName(contactPointId)))
  return { type, config, signingSecrets } as Receiver
}
