import { describe, expect, it } from 'vitest'
import { accountSettings } from '../../../src/contract/accounts.ts'
import { effectiveFunctionConfig, warmContainers } from '../../../src/domain/functions/config.ts'

describe('warm containers', () => {
  it('8.scale-to-zero: minScale 0 behaves as 1 where functionScaleToZero is false', () => {
    const off = accountSettings.parse({ functionScaleToZero: false })
    expect(warmContainers(effectiveFunctionConfig({}, off), off)).toBe(1)
    expect(warmContainers(effectiveFunctionConfig({ minScale: 2 }, off), off)).toBe(2)
    const on = accountSettings.parse({})
    expect(warmContainers(effectiveFunctionConfig({}, on), on)).toBe(0)
  })
})
