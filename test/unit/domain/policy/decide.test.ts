import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { impactActions } from '../../../../src/contract/impact.ts'
import { type PolicyContent, policyContent } from '../../../../src/contract/policy.ts'
import { type PolicyCall, successKey } from '../../../../src/domain/policy/call.ts'
import { compilePolicy, decide } from '../../../../src/domain/policy/decide.ts'
import { freezeTest } from '../../../../src/domain/policy/freezes.ts'
import { globTest } from '../../../../src/domain/policy/glob.ts'
import { startingPolicy } from '../../../../src/domain/policy/starting.ts'

const base: PolicyCall = {
  at: '2030-01-04T12:00:00.000Z',
  accountId: 'acc_1',
  operation: 'delete-app-env',
  caller: {
    ...{ kind: 'agent', userId: 'usr_1', membershipId: 'mem_1', tokenId: 'tok_1', agent: 'Claude' },
    ...{ agentKey: 'usr_1 Claude', surface: 'mcp' },
  },
  environments: [
    { appEnvId: 'env_1', envName: 'shop-prod', app: 'Shop', labels: ['stage=prod'], protected: true },
  ],
  impact: {
    ...{
      actions: ['delete-object', 'delete-data'],
      environments: ['env_1'],
      serving: true,
      containersEnded: 2,
    },
    ...{ containersStarted: 0, downtimeSeconds: null, dataLost: true, undo: 'none', zCloudsDelta: -2 },
    variables: { changed: ['A'], appliedOf: [{ name: 'A', by: 'usr_2' }] },
    peopleNotified: 0,
  },
}
const decided = (policy: Partial<Record<keyof PolicyContent, unknown>>, call: Partial<PolicyCall> = {}) => {
  const { effect, ruleId } = decide(
    compilePolicy(policyContent.parse(policy)),
    { ...base, ...call },
    () => ({}),
  )
  return [effect, ruleId]
}

describe('decisions', () => {
  it('deny wins over ask, ask over allow; without a match it is allowed; the order does not matter', () => {
    const rule = (effect: string) => ({ id: effect, effect })
    expect(decided({})).toEqual(['allow', null])
    for (const rules of [
      ['allow', 'ask', 'deny'],
      ['deny', 'ask', 'allow'],
      ['ask', 'deny', 'allow'],
    ])
      expect(decided({ rules: rules.map(rule) })).toEqual(['deny', 'deny'])
    expect(decided({ rules: ['allow', 'ask'].map(rule) })).toEqual(['ask', 'ask'])
    expect(decided({ rules: ['allow'].map(rule) })).toEqual(['allow', 'allow'])
  })

  it.each([
    [{ who: { kinds: ['agent'] } }, true],
    [{ who: { kinds: ['person'] } }, false],
    [{ who: { agents: ['Cl*'], surfaces: ['mcp', 'rest'] } }, true],
    [{ who: { agents: ['Cl*'], surfaces: ['cli'] } }, false],
    [{ who: { members: ['mem_1'], tokens: ['tok_1'] } }, true],
    [{ who: { tokens: ['tok_2'] } }, false],
    [{ on: { operations: ['delete-*'] } }, true],
    [{ on: { environments: ['*-prod'], apps: ['Shop'], labels: { stage: 'prod' }, protected: true } }, true],
    [{ on: { labels: { stage: 'test' } } }, false],
    [{ on: { protected: false } }, false],
    [{ when: [{ impact: 'containersEnded', is: 'gt', value: 1 }] }, true],
    [{ when: [{ impact: 'downtimeSeconds', is: 'gt', value: 3600 }] }, true],
    [{ when: [{ impact: 'downtimeSeconds', is: 'eq', value: null }] }, true],
    [{ when: [{ impact: 'variables.appliedOf', is: 'contains', value: 'usr_2' }] }, true],
    [
      {
        when: [
          { impact: 'dataLost', is: 'eq', value: true },
          { impact: 'serving', is: 'eq', value: false },
        ],
      },
      false,
    ],
  ])('%j matches: %s', (parts, matches) => {
    expect(decided({ rules: [{ id: 'r', effect: 'deny', ...parts }] })).toEqual(
      matches ? ['deny', 'r'] : ['allow', null],
    )
  })

  it('an allow with after allows only after it; an ask or a denial with it counts only then', () => {
    const after = { operation: 'create-app-env-backup', withinSeconds: 3_600 }
    const succeeded = { [successKey('create-app-env-backup', 'env_1')]: '2030-01-04T11:30:00.000Z' }
    const late = { [successKey('create-app-env-backup', 'env_1')]: '2030-01-04T10:30:00.000Z' }
    const allow = { rules: [{ id: 'r', effect: 'allow', after }] }
    expect(decided(allow, { succeeded })).toEqual(['allow', 'r'])
    expect(decided(allow, { succeeded: late })).toEqual(['deny', 'r'])
    expect(decided(allow)).toEqual(['deny', 'r'])
    const ask = { rules: [{ id: 'r', effect: 'ask', after }] }
    expect([decided(ask, { succeeded }), decided(ask)]).toEqual([
      ['ask', 'r'],
      ['allow', null],
    ])
  })

  it('careful asks agents for what loses data, and people for nothing', () => {
    const careful = compilePolicy(startingPolicy('careful'))
    expect(decide(careful, base, () => ({})).effect).toBe('ask')
    const person = { ...base, caller: { ...base.caller, kind: 'person' as const, agentKey: null } }
    expect(decide(careful, person, () => ({})).effect).toBe('allow')
  })
})

describe('freezes', () => {
  it('are weekly windows in their time zone, across midnight and the change to summer time', () => {
    const night = freezeTest({
      id: 'f',
      weekly: { days: ['fri'], from: '22:00', to: '06:00' },
      timeZone: 'Europe/Berlin',
    })
    expect(night('2030-01-04T20:59:00Z')).toBe(false)
    expect(night('2030-01-04T21:00:00Z')).toBe(true)
    expect(night('2030-01-05T04:59:00Z')).toBe(true)
    expect(night('2030-01-05T05:00:00Z')).toBe(false)
    // In summer, 22:00 in Berlin is 20:00 UTC.
    expect(night('2030-07-05T20:00:00Z')).toBe(true)
  })

  it('begin and end at a time of their zone, or at one with a zone of its own', () => {
    const local = freezeTest({
      id: 'f',
      from: '2030-12-24T18:00',
      to: '2030-12-27T00:00',
      timeZone: 'America/New_York',
    })
    expect([
      local('2030-12-24T22:59:59Z'),
      local('2030-12-24T23:00:00Z'),
      local('2030-12-27T05:00:00Z'),
    ]).toEqual([false, true, false])
    const zoned = freezeTest({ id: 'f', from: '2030-12-24T18:00:00Z', timeZone: 'America/New_York' })
    expect([zoned('2030-12-24T17:59:59Z'), zoned('2030-12-24T18:00:00Z')]).toEqual([false, true])
  })
})

describe('wildcards', () => {
  it('match as a regular expression would, for thousands of patterns', () => {
    const letters = fc
      .array(fc.constantFrom('a', 'b', '-', '.', '*', '?'), { maxLength: 8 })
      .map((all) => all.join(''))
    const text = fc.array(fc.constantFrom('a', 'b', '-', '.'), { maxLength: 8 }).map((all) => all.join(''))
    fc.assert(
      fc.property(letters, text, (pattern, word) => {
        const escaped = pattern.replace(/[.-]/g, '\\$&').replace(/\*/g, '.*').replace(/\?/g, '.')
        expect(globTest(pattern)(word)).toBe(new RegExp(`^${escaped}$`).test(word))
      }),
      { numRuns: 3_000 },
    )
    const started = performance.now()
    expect(globTest('*a'.repeat(70))('b'.repeat(140))).toBe(false)
    expect(performance.now() - started).toBeLessThan(500)
  })
})

describe('an account policy', () => {
  it('one more rule never loosens a decision, unless it is an allow', () => {
    const effect = fc.constantFrom('ask', 'deny')
    const rule = fc.record({
      effect,
      action: fc.constantFrom(...impactActions),
      ended: fc.integer({ min: 0, max: 4 }),
    })
    const asRule = (
      { effect: one, action, ended }: { effect: string; action: string; ended: number },
      index: number,
    ) => ({
      id: `r${index}`,
      effect: one,
      when: [
        { impact: 'actions', is: 'contains', value: action },
        { impact: 'containersEnded', is: 'gte', value: ended },
      ],
    })
    const strictness = (policy: object) => ['allow', 'ask', 'deny'].indexOf(decided(policy)[0] as string)
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 6 }), rule, (rules, more) => {
        const before = { rules: rules.map(asRule) }
        const after = { rules: [...rules, more].map(asRule) }
        expect(strictness(after)).toBeGreaterThanOrEqual(strictness(before))
      }),
      { numRuns: 1_000 },
    )
  })
})
