import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { operations } from '../../../src/contract/index.ts'
import type { ToolGroup } from '../../../src/contract/tool-groups.ts'
import { defaultTools } from '../../../src/mcp/policy/default-tools.ts'
import { type Guide, guides } from '../../../src/mcp/resources/guides.ts'
import { absentFeature } from '../../../src/mcp/tools/absent-features.ts'
import { inputSchemaOf } from '../../../src/mcp/tools/schema.ts'
import { tools } from '../../../tools/index.ts'

/** Texts that only callers of tools of these groups get, and what a move of a database needs. */
const groupsOf: Readonly<Record<string, readonly ToolGroup[]>> = {
  'src/operations/jobs': ['jobs'],
  'src/mcp/tools/wait-for-job-run.ts': ['jobs'],
  'src/mcp/tools/job-checks.ts': ['jobs'],
  'src/operations/backups': ['databases'],
  'src/domain/backups': ['databases'],
  'src/operations/databases': ['databases'],
  'src/domain/environments/move.ts': ['databases'],
  'src/operations/environments/delete-app-env.ts': ['databases'],
  'src/operations/alerts/undo-contact-point.ts': ['access', 'alerts'],
  'src/operations/audit': ['access'],
  'src/operations/domains': ['domains'],
  'src/operations/remediation': ['remediation'],
}

function filesIn(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const file = path.join(folder, name)
    return statSync(file).isDirectory() ? filesIn(file) : [file]
  })
}

/** The texts of a source file: quoted, and with a space, so not an id in code. */
function textsIn(source: string): string[] {
  const code = source.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '').replaceAll(/^import .*$/gm, '')
  return (code.match(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|"(?:[^"\\\n]|\\.)*"/g) ?? []).filter((text) =>
    /\w \w/.test(text),
  )
}

describe('advice', () => {
  it("of an error or a diagnosis names only tools of the default list, or of the caller's own group", () => {
    const others = tools.filter(({ name }) => !defaultTools.has(name))
    const files = ['src/operations', 'src/domain', 'src/contract/rules.ts', 'src/mcp/tools'].flatMap(
      (place) => (place.endsWith('.ts') ? [place] : filesIn(place)),
    )
    const unreachable = files.flatMap((file) => {
      const groups = Object.entries(groupsOf).find(([place]) => file.startsWith(place))?.[1] ?? []
      const texts = textsIn(readFileSync(file, 'utf8')).join('\n')
      return others
        .filter(
          ({ name, group }) =>
            !groups.includes(group) && new RegExp(`(?<![\\w/'-])${name}(?![\\w'-])`).test(texts),
        )
        .map(({ name }) => `${file}: ${name}`)
    })
    expect(unreachable).toEqual([])
  })

  it('of a guide names tools of the default list, or says with which groups a person adds them', () => {
    for (const { skill, text, tools: needed } of guides as readonly Guide[]) {
      const named = tools.filter(({ name }) => new RegExp(`(?<![\\w-])${name}(?![\\w-])`).test(text))
      for (const { name, group } of named)
        expect(defaultTools.has(name) || text.includes(`tools=${group}`), `${skill}: ${name}`).toBe(true)
      const inDefaults = named.filter(({ name }) => needed.includes(name)).map(({ name }) => name)
      expect(inDefaults.sort(), skill).toEqual([...needed].sort())
    }
  })

  it('of a diagnosis is a call of a default tool whose inputs are published', () => {
    const sources = filesIn('src/domain/diagnosis').map((file) => readFileSync(file, 'utf8'))
    const fixes = sources.flatMap((source) =>
      [...source.matchAll(/fixBy\(\s*'([a-z-]+)'/g)].map(([, id]) => id!),
    )
    expect(new Set(fixes).size).toBeGreaterThan(5)
    for (const id of fixes) {
      expect(defaultTools.has(id), id).toBe(true)
      expect(
        operations.some((operation) => operation.id === id),
        id,
      ).toBe(true)
    }
  })

  it('names inputs that a listed tool takes: `x with update-…`', () => {
    const text = ['next-step.ts', 'catalog.ts']
      .map((file) => readFileSync(`src/domain/diagnosis/${file}`, 'utf8'))
      .join('\n')
    const settings = [...text.matchAll(/\b([a-z]+[A-Z][A-Za-z]+) with (update-[a-z-]+)/g)]
    expect(settings.length).toBeGreaterThan(2)
    for (const [, input, name] of settings) {
      const tool = tools.find((one) => one.name === name)!
      expect(Object.keys(inputSchemaOf(tool).shape), `${input} with ${name}`).toContain(input)
    }
  })

  it.each([
    ['exec-in-container', 'shell'],
    ['create-cron-job', 'schedules'],
    ['cronSchedule', 'schedules'],
    ['createBucket', 'object storage'],
    ['set_traffic_split', 'traffic'],
  ])('for %s says that it does not exist, and the nearest', (name, what) => {
    const said = absentFeature(name)!
    expect(said).toContain(`Longshore has no`)
    expect(said).toContain(what)
    expect(absentFeature(tools[0]!.name)).toBeNull()
  })

  it('no tool or input of Longshore passes for a feature that it lacks', () => {
    const names = tools.flatMap((tool) => [tool.name, ...Object.keys(inputSchemaOf(tool).shape)])
    expect(names.filter((name) => name !== 'shell' && absentFeature(name) !== null)).toEqual([])
    for (const name of ['storageKeys', 'storageSize', 'mail', 'attachVolume', 'splitLines'])
      expect(absentFeature(name), name).toBeNull()
  })
})
