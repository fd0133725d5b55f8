import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { Option } from 'commander'
import type { Client } from '../../client/client.ts'
import { getAppEnv } from '../../contract/app-envs.ts'
import { environmentRef, type Options, repeated } from '../command.ts'
import { UsageError } from '../command-io.ts'
import type { RowExtension } from './extension.ts'
import { namedValue } from './fields.ts'

interface NamedValue {
  name: string
  value?: string
  type?: string
  isSecret?: boolean
  from?: { envName: string; field: string }
}

/** `longshore envs variables`. */
export const variablesExtension: RowExtension = {
  options: [
    repeated('--set-plain <NAME=value>', 'like --set, but readable by everyone who can see the environment'),
    repeated(
      '--set-from <NAME=environment.field>',
      'a value that is never shown: url, host, port, user, password or name of a database, or a variable of an environment',
    ),
    new Option('--import <FILE>', 'set every variable of a .env file, as secrets; - reads standard input'),
    new Option(
      '--import-plain <FILE>',
      'like --import, but readable by everyone who can see the environment',
    ),
    new Option('--build', 'the given variables are also set during builds (without it, new ones are not)'),
  ],
  prepare(input, options) {
    const { setPlain = [], setFrom = [], import: secretFile, importPlain } = options
    const plain = (setPlain as string[]).map((word) => {
      const { name, value } = namedValue('--set-plain', word)
      return { name, value, isSecret: false }
    })
    const added = [
      ...imported(secretFile, true),
      ...imported(importPlain, false),
      ...plain,
      ...(setFrom as string[]).map(reference),
    ]
    const set = [...((input.set as NamedValue[] | undefined) ?? []), ...added]
    if (set.length > 0) input.set = set
    if (input.set !== undefined || input.unset !== undefined) return
    throw new UsageError(
      'give at least one --set NAME=value, --set-plain NAME=value, --set-from NAME=environment.field, --import FILE or --unset NAME; longshore envs get shows the variables',
    )
  },
  /** A new variable is for containers, so that setting it builds nothing; a known one stays what it is. */
  async resolve(client, input, { build }) {
    const set = (input.set as NamedValue[] | undefined) ?? []
    const open = set.filter(({ type, from }) => type === undefined && from === undefined)
    if (open.length === 0) return
    const known = new Set(build === true ? [] : (await variablesOf(client, input)).map(({ name }) => name))
    const type = build === true ? 'BOTH' : 'DEPLOY'
    input.set = set.map((one) => (open.includes(one) && !known.has(one.name) ? { ...one, type } : one))
  },
  after: storedAs,
}

/** The variables of a .env file: `NAME=value`, `export`, quotes and comments; nothing is expanded. */
function imported(file: unknown, isSecret: boolean): NamedValue[] {
  if (typeof file !== 'string') return []
  let text: string
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new UsageError(`cannot read ${JSON.stringify(file)} (${(error as NodeJS.ErrnoException).code})`)
  }
  const found = Object.entries(parseEnv(text.replace(/^\ufeff/, '')))
  if (found.length === 0) throw new UsageError(`${JSON.stringify(file)} has no line NAME=value`)
  return found.map(([name, value]) => ({ name, value: value ?? '', isSecret }))
}

async function variablesOf(client: Client, { appEnvId, envName }: Options) {
  return (await client.call(getAppEnv, environmentRef(String(appEnvId ?? envName)))).envVars
}

/** `NAME=environment.field`; names of environments have no dot. */
function reference(word: string): { name: string; from: { envName: string; field: string } } {
  const { name, value } = namedValue('--set-from', word)
  const [, envName, field] = /^([^.]+)\.([^.]+)$/.exec(value) ?? []
  if (envName === undefined || field === undefined) {
    throw new UsageError(
      `--set-from takes NAME=environment.field, such as --set-from ${name}=shopdb-prod.url`,
    )
  }
  return { name, from: { envName, field } }
}

/** The variables of a call that are secret now: the default differs for new and known ones. */
async function storedAs(client: Client, input: Options): Promise<string[]> {
  const named = new Set(((input.set as NamedValue[] | undefined) ?? []).map(({ name }) => name))
  if (named.size === 0) return []
  const envVars = await variablesOf(client, input)
  const names = (isSecret: boolean) =>
    envVars.filter((one) => named.has(one.name) && one.isSecret === isSecret).map(({ name }) => name)
  const [secret, plain] = [names(true), names(false)]
  return [
    ...(secret.length > 0
      ? [`Stored as secret: ${secret.join(', ')} (--set-plain stores a readable value).`]
      : []),
    ...(plain.length > 0 ? [`Stored readable: ${plain.join(', ')}.`] : []),
  ]
}
