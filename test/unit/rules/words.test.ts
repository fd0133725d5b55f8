import { describe, expect, it } from 'vitest'
import { commentsOf, filesEndingWith, titlesOf } from '../../../testkit/source-text.ts'

/** This list itself, and migrations: their names and statements are part of stores that exist. */
const exempt = ['test/unit/rules/words.test.ts', 'src/store/migrations/']

/** Words of other people's interfaces that look like one of ours. */
const foreign =
  /allSettled|npm notice|formatToParts|journal_mode|Colou?rStream|notice: (?:z\.string|'logs)|notice\|copying|<mark>|mark\(|\bpin\b(?=[:.,)\]?`']| [}?])|notifications\/cancelled|cancelledIdOf|status: 'cancelled'/g

/** In comments, texts and identifiers alike; compound identifiers are split into their words. */
const words: Record<string, RegExp> = {
  'desired state': /\bwish(?:es|ed)?\b/i,
  'notified, reported': /\b(?:un)?told\b/i,
  'requested, queried': /\basked\b/i,
  'reported, returned': /\bsaid\b/i,
  'notification, or another verb': /\bnotice[sd]?\b/i,
  'audit log': /\bjournals?\b/i,
  WorkerPool: /\bcrews?\b/i,
  'no caller, no process, …': /\bnobody\b|\bno one\b/i,
  'the process that, the user who': /\bwhoever\b/i,
  'fix, repair': /\bmend(?:s|ed|ing)?\b/i,
  again: /\banew\b/i,
  scope: /\bpin(?:s|ned)?\b/i,
  'tool policy': /\bexposures?\b/i,
  'does not know, or the reason': /\bknows? nothing\b|\bknows? of no\b/i,
  'anyway, still': /\ball the same\b/i,
  'a personified program': /\b(?:hopes?|hoped|speaks? for|minds its|on its own behalf)\b/i,
  prewarmed: /\bspares?\b/i,
  downsampled: /\bcoarse(?:r|st|ly)?\b/i,
  chunk: /\bstretch(?:es)?\b/i,
  permissions: /\bstandings?\b/i,
  'undo handlers': /\bundoers?\b/i,
  'American spelling':
    /\b(?:un)?(?:authoris|serialis|deserialis|initialis|normalis|organis|recognis|optimis|minimis|summaris|prioritis|sanitis|synchronis)\w*|\b(?:colour|behaviour|favour|honour|neighbour)\w*|\b(?:cancell(?:ed|ing)|labell(?:ed|ing)|modelling|catalogue|centre|fulfil)\b/i,
}

/** Declarations and calls by a name: functions, types, methods, fields, and properties that hold one of them. */
function named(name: string): RegExp {
  const declared = `\\b(?:function|class|interface|type|get|set|readonly) ${name}\\b|#${name}\\b`
  const assigned = `\\b${name}(?: = (?:new |async |\\()|\\??: (?:new |async |[({A-Z]))`
  return new RegExp(`${declared}|${assigned}|\\b${name}\\(`)
}

/** Names of types, functions, constants, members and files. */
const names: Record<string, RegExp> = {
  '*Deps, *Options': /\w+(?:Parts|Surroundings)\b/,
  'RequestScheduler, Backend': /\bServed(?:Environment|Container)\b/,
  'ProxiedRequest, LocalReply, RequestQueue':
    /\b(?:class|interface|type) (?:Exchange|OwnAnswer|WaitingLine)\b/,
  shedLoad: /\bturnAway\b/,
  'ProxyServer, UpstreamPool, bindPort, handoff':
    /\b(?:class|interface|type) (?:Serving|PassOn)\b|container-pool|ContainerPool|take-port|takePort|pass-?on\.ts|passOn\b/,
  'afterCommit, preview': /\bforesee\w*|\bconst settle\b/,
  'AccessRequest, RequestOrigin': /\b(?:class|interface|type) (?:Asking|Approach)\b/,
  'load*, authorize*, scope': /\breach[A-Z]\w*|[a-z]Reach\b|\bReach\b/,
  'responses, permissions': /[\w-]+-answers\.ts|\b(?:function|const|interface|type) acted\b/i,
  'lazy initialize, ToolPolicy, destructive effect, warn*, sanitize':
    /\bFrontDesk|front-desk|\blossOf\w*|\bsays[A-Z]\w*|\b(?:function|const) visible\b/,
  'RolloutWriter, ImageBuilder, metric targets, sample':
    /\b(?:class|interface|type) Transitions\b|\b[Ii]mage-?[Mm]ak(?:er|ing)\b|\b(?:function|const|let|interface|type) measured\b|[a-z]Turns?\b/,
  'cross-tenant image guard, restoreId, purge, availability':
    /\bothers-?images\b|\b(?:function|const|let|interface|type) (?:marks?|offers?)\b|\bforgetEnvironment\b/i,
  'the records that it writes, such as rollouts': named('transitions'),
  'what a call does, such as pass or next': named('[Tt]urns?'),
  'what it does, such as release* or apply*': named('settle(?:[A-Z]\\w*)?'),
  'describe*, connect*': named('reach(?:es)?'),
  'boot clock, bootTime': new RegExp(
    `${named('moments?').source}|\\b(?:function|const|let|class|interface|type) \\w*[Mm]oments?\\b`,
  ),
}
const fileNames = /(?<=[/-])(?:moments?|turns?|transitions|settle|reach(?:es)?)(?=[-.])/

const homeInProse = /(?<![-.$<'"#{/\w])homes?\b(?![-'".:>\w])/

const code = ['.ts', '.tsx', '.mjs', '.js']
/** Read as they are. */
const plain = '.md .yaml .yml .css .cfg .example .service .txt .tpl Dockerfile .ci/run'.split(' ')

const clean = [...filesEndingWith(...code, ...plain)].filter(
  ([name]) => !exempt.some((prefix) => name.startsWith(prefix)),
)

const isTest = (name: string) => /^test(?:kit)?\//.test(name)

function proseOf(name: string, text: string): string {
  if (plain.some((end) => name.endsWith(end))) return text
  return [commentsOf(text), ...(isTest(name) ? titlesOf(text) : [])].join('\n')
}

/** Tests are checked in titles, comments and names only: their data may be any words. */
function findings(name: string, text: string): string[] {
  const searched = text.replaceAll(foreign, '')
  const prose = proseOf(name, searched)
  const worded = isTest(name) ? prose : searched
  const split = worded.replaceAll(/(?<=[a-z\d])(?=[A-Z])/g, ' ').replaceAll('_', ' ')
  return [
    ...Object.entries(words).map(([instead, pattern]) => ({ instead, found: split.match(pattern) })),
    ...Object.entries(names).map(([instead, pattern]) => ({
      instead,
      found: `${name}\n${searched}`.match(pattern),
    })),
    { instead: 'what the file does', found: name.match(fileNames) },
    { instead: 'data directory', found: prose.replaceAll(/`[^`]*`/g, '').match(homeInProse) },
  ].flatMap(({ instead, found }) => (found ? [`${name}: "${found[0]}", write: ${instead}`] : []))
}

describe('the terms of the glossary', () => {
  it('finds a forbidden word in comments, texts and identifiers', () => {
    const examples = [
      `// ${'What'} a pod ${'wish'}es`,
      `const ${'desired'}${'Wish'} = 1`,
      `log.info('it was ${'told'}')`,
      `/** Below the ${'home'} of the platform. */`,
    ]
    expect(examples.flatMap((example) => findings('example.ts', example))).toHaveLength(4)
    const named = [
      'interface Times { moment(): BootTime }',
      'readonly #transitions: JobRunWriter',
      'transitions: RolloutWriter',
      'async turn(): Promise<void> {',
      '  #settle(upstreamIs: string): void {',
      'const reach = (ids: string[]) => 1',
      'class Turns {',
    ]
    for (const example of named) expect(findings('example.ts', example), example).toHaveLength(1)
    expect(findings('src/api/request-turns.ts', '')).toHaveLength(1)
    expect(findings('example.ts', 'for (let turn = 0; turn < 2; turn += 1) await worker.settled()')).toEqual(
      [],
    )
    expect(findings('example.ts', "const home = env.HOME // A user's own HOME.")).toEqual([])
  })

  it('reads titles, also after the options of a test', () => {
    const calls = [
      `${'it'}('one', () => {})`,
      `${'it'}.each<[string, Map<string, X>]>([\n  ['a)', { b: [1] }], // ]\n  [/[)]\\)/, \`]\`],\n])(\n  "it's two %s",`,
      `${'describe'}.skipIf(no(Docker))('three', () => {`,
      `${'it'}.skipIf(none).each(f(a))(\`four\`, () => {`,
      "/it/.test('none')",
    ]
    expect(titlesOf(calls.join('\n'))).toEqual(['one', "it's two %s", 'three', 'four'])
  })

  it('reads the sources', () => {
    expect(clean.length).toBeGreaterThan(300)
  })

  it('are the only ones in use', () => {
    expect(clean.flatMap(([name, text]) => findings(name, text))).toEqual([])
  })
})
