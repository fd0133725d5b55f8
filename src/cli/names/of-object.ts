import type { Client } from '../../client/client.ts'
import type { Operation } from '../../contract/operation.ts'
import { factsOf, fieldGiven, typesNamedBy } from '../../contract/resources.ts'
import type { Options } from '../command.ts'
import { namedTypes } from './by-type.ts'

/** The object of a call, with its name for people. */
interface NamedObject {
  noun: string
  id: string
  /** The id where the object has no name. */
  name: string
}

/** Reads the name of the object that an operation is called on; null for an input that names none. */
export async function namedObject(
  client: Client,
  { policy }: Operation,
  input: Options,
): Promise<NamedObject | null> {
  const type = typesNamedBy(policy.on).find((one) => fieldGiven(one, input) !== undefined)
  if (type === undefined) return null
  const given = String(input[fieldGiven(type, input)!])
  const [id, name] = (await namedTypes[type]?.one(client, given, input)) ?? [given, given]
  return { noun: factsOf(type).noun.toLowerCase(), id, name }
}
