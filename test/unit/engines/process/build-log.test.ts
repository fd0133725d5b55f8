import { expect, it } from 'vitest'
import { BuildLog } from '../../../../src/engines/process/build/log.ts'

const m = '***SECRET***'
const maskOf = (secrets: readonly string[]) => new BuildLog(() => {}, secrets).mask

it('E2 masks secret build arguments of 4 characters or more, inside other values too, and the lines of long ones', () => {
  expect(maskOf(['s3cret', 's3cret-longer'])('a s3cret and s3cret-longer')).toBe(`a ${m} and ${m}`)
  expect(maskOf(['line-one\nline-two-of-it\n}'])('key: line-two-of-it }')).toBe(`key: ${m} }`)
  expect(maskOf(['pw42'])('password pw42')).toBe(`password ${m}`)
  expect(maskOf([''])('nothing')).toBe('nothing')
  expect(maskOf(['1', 'p'])('Step 1/4')).toBe('Step 1/4')
})

it('E2 masks them as URLs, JSON and base64 write them', () => {
  const mask = maskOf(['p@ss w/rd"'])
  for (const text of [encodeURIComponent('p@ss w/rd"'), 'p@ss w/rd\\"', btoa('p@ss w/rd"')])
    expect(mask(`RUN curl ${text}`)).toBe(`RUN curl ${m}`)
})

it('takes no longer for secrets and output that are made to be slow', () => {
  const secrets = Array.from({ length: 50 }, (_, nth) =>
    Array.from({ length: 5_000 }, (_, line) => `aaaa${nth}-${line}`).join('\n'),
  )
  const mask = maskOf(secrets)
  const line = 'aaaa0-'.repeat(2_000)
  const before = process.cpuUsage()
  for (let count = 0; count < 50; count += 1) mask(line)
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(2_000)
})
