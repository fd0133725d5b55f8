import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { interfaceRules } from './interface-rules.ts'

const testRoot = path.resolve(import.meta.dirname, '..')

/** Titles of all tests, as they stand in the sources. */
function titles(): string[] {
  const files = readdirSync(testRoot, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.test.ts'),
  )
  return files
    .filter((name) => !name.startsWith('rules'))
    .flatMap((name) => {
      const text = readFileSync(path.join(testRoot, name), 'utf8')
      return [
        ...text.matchAll(/\b(?:it|test|describe)(?:\.\w+(?:\([^)]*\))?)*\(\s*(['"`])([\s\S]*?)\1/g),
      ].map((match) => match[2] as string)
    })
}

describe('every rule of the interface', () => {
  const all = titles()
  const cited = (id: string) =>
    all.some((title) => new RegExp(`(?<![\\w.])${id.replaceAll('.', '\\.')}(?![\\w-])`).test(title))

  it('reads the titles at all', () => {
    expect(all.length).toBeGreaterThan(300)
  })

  it.each(Object.entries(interfaceRules))('%s (%s) is cited by a test', (id) => {
    expect(cited(id)).toBe(true)
  })
})
