import { describe, expect, it } from 'vitest'
import { operations } from '../../../src/contract/index.ts'
import type { Policy } from '../../../src/contract/operation.ts'
import { factsOf, resourceTypes } from '../../../src/contract/resources.ts'
import { typeRecordedAs } from '../../../src/operations/core/resources.ts'

const rows = resourceTypes.map((type) => ({ type, ...factsOf(type) }))
const named = rows.filter(({ key }) => key !== undefined)
const byId = new Map(operations.map((operation) => [operation.id, operation]))

describe('the registry of object types', () => {
  it('names lists and reads that exist; a read takes the id and is on the type itself', () => {
    for (const { type, listedBy, readBy, idFields } of rows) {
      if (idFields.length > 0) expect(byId.get(listedBy ?? ''), type).toBeDefined()
      if (readBy === undefined) continue
      expect(byId.get(readBy)?.policy.on, type).toBe(type)
      expect(byId.get(readBy)?.input.shape, type).toHaveProperty(idFields[0]!)
    }
  })

  it('tells types apart by prefix, id field, key and audit name', () => {
    for (const distinct of [
      rows.map(({ idPrefix }) => idPrefix),
      // A policy has the id of its account.
      rows.filter(({ auditName }) => auditName !== 'policy').flatMap(({ idFields }) => idFields),
      named.map(({ key }) => key),
      named.map(({ auditName }) => auditName),
    ]) {
      expect(distinct).toEqual([...new Set(distinct)])
    }
  })

  it('has no type without an operation on it, and finds it by the name that the audit log records', () => {
    for (const { type, auditName } of named) {
      expect(
        operations.some(({ policy }) => policy.on === type),
        type,
      ).toBe(true)
      expect(typeRecordedAs(auditName)).toBe(type)
    }
  })

  it('takes the ids of a type in every operation on it', () => {
    for (const { id, policy, input } of operations) {
      const row = named.find(({ type }) => type === policy.on)
      for (const field of row?.idFields ?? []) expect(input.shape, id).toHaveProperty(field)
    }
  })

  it('makes policies that leave out a permission, or that nothing would decide, compile errors', () => {
    // @ts-expect-error every operation on a member needs Manage Members
    const withoutPermission: Policy = { on: 'member' }
    // @ts-expect-error no environment is known that the token could belong to
    const withoutEnvironment: Policy = { on: 'backup', environmentToken: true }
    // @ts-expect-error no account is known in which the caller could be an admin
    const withoutAccount: Policy = { on: 'installation', needs: 'admin' }
    // @ts-expect-error no policy is on this type
    const withoutKey: Policy = { on: 'token' }
    expect([withoutPermission, withoutEnvironment, withoutAccount, withoutKey]).toHaveLength(4)
  })
})
