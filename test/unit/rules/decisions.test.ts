import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../../testkit/source-text.ts'

const folder = path.join(root, 'docs/decisions')
const pages = readdirSync(folder).filter((name) => name !== 'README.md')
const text = (name: string) => readFileSync(path.join(folder, name), 'utf8')

it('finds the decisions', () => {
  expect(pages.length).toBeGreaterThan(10)
})

it.each(pages)('%s has context, options, decision and consequences, and is in the list', (name) => {
  const parts = [...text(name).matchAll(/^\*\*(\w+)\.\*\*/gm)].map(([, part]) => part)
  expect(parts).toEqual(['Context', 'Options', 'Decision', 'Consequences'])
  expect(text('README.md')).toContain(`](${name})`)
})
