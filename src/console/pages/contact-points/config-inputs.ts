import {
  type ContactPointConfig,
  type ContactPointType,
  severities,
} from '../../../contract/contact-points.ts'

type ConfigName = keyof ContactPointConfig

export interface ConfigInput {
  name: ConfigName
  hint?: string
  kind?: 'url' | 'password' | 'list'
  options?: readonly string[]
  /** The default option. */
  usual?: string
  isOptional?: boolean
}

/** The inputs of each type (2.6). Addresses that let anyone post are secrets: they are not shown again. */
export const configInputs: Record<ContactPointType, readonly ConfigInput[]> = {
  webhook: [
    { name: 'url', kind: 'url', hint: 'An http or https address. It is not shown again.' },
    { name: 'httpMethod', options: ['POST', 'PUT'], usual: 'POST' },
    { name: 'username', hint: 'Optional, for Basic authentication.', isOptional: true },
    { name: 'password', kind: 'password', isOptional: true },
  ],
  chat: [
    {
      name: 'webhookUrl',
      kind: 'url',
      hint: 'From the chat service. It is not shown again.',
    },
    { name: 'channel', hint: 'Optional.', isOptional: true },
    {
      name: 'mentionUsers',
      kind: 'list',
      hint: 'Optional. User ids, separated by commas.',
      isOptional: true,
    },
  ],
  email: [{ name: 'addresses', kind: 'list', hint: 'Separated by commas.' }],
  incident: [
    { name: 'integrationKey', kind: 'password', hint: 'It is not shown again.' },
    { name: 'severity', options: severities, usual: 'error' },
  ],
}

export type ConfigDraft = Record<ConfigName, string>

export const emptyConfig: ConfigDraft = {
  webhookUrl: '',
  channel: '',
  mentionUsers: '',
  integrationKey: '',
  severity: '',
  url: '',
  httpMethod: '',
  username: '',
  password: '',
  addresses: '',
}

/** Never kept outside the page. */
export const secretNames = ['webhookUrl', 'url', 'integrationKey', 'password'] as const

/** The request: filled inputs, and empty values for inputs to remove. */
export function configOf(
  fields: readonly ConfigInput[],
  typed: ConfigDraft,
  removed: readonly string[],
): ContactPointConfig {
  const entries = fields.flatMap(({ name, kind }) => {
    const text = removed.includes(name) ? '' : typed[name].trim()
    if (text === '' && !removed.includes(name)) return []
    return [[name, kind === 'list' ? text.split(/[,\s]+/).filter(Boolean) : text]]
  })
  return Object.fromEntries(entries)
}
