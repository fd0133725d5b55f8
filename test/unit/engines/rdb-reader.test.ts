import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { readRdb } from '../../../src/engines/redis/rdb-reader.ts'

/** A compressed string that says to be `plain` bytes long, of a literal run of three. */
function compressed(plain: bigint): Buffer {
  const length = Buffer.alloc(9)
  length[0] = 0x81
  length.writeBigUInt64BE(plain, 1)
  return Buffer.concat([Buffer.from([0xc3, 4]), length, Buffer.from([2, 97, 98, 99])])
}
const end = Buffer.from([0xff])
const dump = (...parts: Buffer[]) => Readable.from([Buffer.concat([Buffer.from('REDIS0011'), ...parts, end])])

it('passes over a value in its stored form, however long it says to be', async () => {
  const value = compressed(2n ** 40n)
  const items = []
  for await (const item of readRdb(dump(Buffer.from([0, 1, 107]), value))) items.push(item)
  expect(items).toMatchObject([
    { kind: 'key', key: Buffer.from('k'), value: Buffer.concat([Buffer.from([0]), value]) },
  ])
})

it('reads a compressed key, and refuses one that is longer than a key can be restored', async () => {
  const read = async (plain: bigint) => {
    for await (const item of readRdb(dump(Buffer.from([0]), compressed(plain), Buffer.from([1, 118]))))
      return item
  }
  expect(await read(3n)).toMatchObject({ key: Buffer.from('abc') })
  await expect(read(2n ** 30n)).rejects.toThrow('more than 64 MB')
})
