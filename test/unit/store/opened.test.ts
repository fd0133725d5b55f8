import { expect, it } from 'vitest'
import { createMask, mostMasked } from '../../../src/domain/environments/secret-masker.ts'
import { secretValues } from '../../../src/store/secrets/opened.ts'

/** Seals nothing, and counts what is opened. */
class CountingBox {
  opened = 0
  seal(clear: string): string {
    return clear
  }
  open(sealed: string): string {
    this.opened += 1
    return sealed
  }
}

const passwords = JSON.stringify({ password: 'the-password', adminPassword: 'the-admin-password' })

it('E2 opens no more values than a mask can hold, and those of the database first', () => {
  const box = new CountingBox()
  const size = 2_048
  const variables = Array.from({ length: 500 }, (_, index) => ({
    name: `NAME_${index}`,
    value: `value-${index}-`.padEnd(size, 'x'),
    isSecret: true,
  }))
  const database = { secrets: passwords, previousSecrets: passwords }
  const owner = { appEnvId: 'env_1', database: database as never }
  const mask = createMask(secretValues(box, owner, [...variables, ...variables]))
  expect(mask('the-password value-3-'.padEnd(13 + size, 'x'))).toBe('***SECRET*** ***SECRET***')
  // Two of the database, and the one that is too much.
  expect(box.opened).toBeLessThanOrEqual(mostMasked / size + 3)
})

it('E2 a value longer than a mask can hold leaves the others masked', () => {
  const variables = [
    { name: 'BUNDLE', value: 'x'.repeat(mostMasked + 1), isSecret: true },
    { name: 'KEY', value: 'the-key-of-the-shop', isSecret: true },
  ]
  const mask = createMask(secretValues(new CountingBox(), { appEnvId: 'env_1' }, variables))
  expect(mask('key: the-key-of-the-shop')).toBe('key: ***SECRET***')
})
