import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { recordReader, UnreadableRow } from '../../../src/store/record.ts'

interface Thing {
  thingId: string
  state: 'on' | 'off'
}
const things = recordReader<Thing>(
  'things',
  'thingId',
  z.looseObject({ thingId: z.string(), state: z.enum(['on', 'off']) }),
)

it('reads rows as they are stored, fields of other versions and their order included', () => {
  const text = '{"state":"on","later":{"a":1},"thingId":"thg_1"}'
  expect(things.one(undefined)).toBeNull()
  expect(JSON.stringify(things.one({ record: text }))).toBe(text)
  expect(things.all([{ record: text }, { record: text }])).toHaveLength(2)
})

it.each([
  ['{"thingId":"thg_1","state":"hunter2"}', 'thg_1', 'state (invalid_value)'],
  ['{"thingId":"thg_1"}', 'thg_1', 'state (invalid_value)'],
  ['{"thingId":"thg_1","state":"hunter2', 'thg_1', 'its JSON is damaged'],
  ['"hunter2"', '(without an id)', 'all of it (invalid_type)'],
])('names table and object of %s, and none of its values', (record, id, problem) => {
  const read = () => things.one({ record })
  expect(read).toThrow(new UnreadableRow('things', id, problem))
  try {
    read()
  } catch (error) {
    expect(String((error as Error).stack) + String((error as Error).cause)).not.toContain('hunter2')
  }
})

it('takes the id from the row if the text has none, and fills in the given defaults', () => {
  const settings = recordReader<{ most: number }>(
    'accounts',
    null,
    z.object({ most: z.number().default(3) }),
    {
      fillsIn: true,
    },
  )
  expect(settings.parse('{}', 'acc_1')).toEqual({ most: 3 })
  expect(() => settings.parse('{"most":"x"}', 'acc_1')).toThrow(
    'the row acc_1 of the table accounts cannot be read',
  )
})

it('is the only way from a stored text to an object', () => {
  const folder = 'src/store/repositories'
  const parsing = readdirSync(folder).filter((name) =>
    readFileSync(`${folder}/${name}`, 'utf8').includes('JSON.parse('),
  )
  expect(parsing).toEqual([])
})
