// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of Dockerfiles
import { describe, expect, it } from 'vitest'
import { refuseOthersImages } from '../../../../src/engines/docker/cross-tenant-image-guard.ts'
import {
  deepestNesting,
  ExpansionBudget,
  ExpansionError,
  expandWord,
  longestExpansion,
  mostExpanded,
} from '../../../../src/engines/dockerfile/expand.ts'
import { type BaseImage, checkExpansion } from '../../../../src/engines/dockerfile/expansion-check.ts'
import { parseDockerfile } from '../../../../src/engines/dockerfile/parse.ts'
import { assertReadable, readingsOf } from '../../../../src/engines/dockerfile/readings.ts'

const nothing: BaseImage = { env: new Map(), triggers: [] }

const check = (dockerfile: string, buildArgs: Record<string, string> = {}, base: Partial<BaseImage> = {}) =>
  checkExpansion(dockerfile, buildArgs, async () => ({ ...nothing, ...base }))

/** Each variable holds many times the one before. */
function growing(keyword: string, { levels = 4, times = 90, first = 'x'.repeat(100) } = {}): string[] {
  const lines = [`${keyword} W0=${first}`]
  for (let level = 1; level < levels; level += 1)
    lines.push(`${keyword} W${level}=${`$W${level - 1}`.repeat(times)}`)
  return lines
}

describe('the expansion of one word', () => {
  const expand = (text: string, budget = new ExpansionBudget()) =>
    expandWord(text, (name) => (name === 'BIG' ? 'x'.repeat(60_000) : undefined), {
      escapeChar: '\\',
      budget,
    })

  it('ends at 64 KiB, having done no more work than that', () => {
    const budget = new ExpansionBudget()
    expect(() => expand('$BIG'.repeat(30_000), budget)).toThrow(/more than 64 KiB/)
    expect(budget.spent).toBeLessThanOrEqual(longestExpansion + 60_000)
    expect(expand('$BIG')).toHaveLength(60_000)
  })

  it('ends when all words together reach 512 KiB', () => {
    const budget = new ExpansionBudget()
    expect(() => {
      for (let count = 0; count < 100; count += 1) expand('$BIG', budget)
    }).toThrow(/512 KiB in total/)
    expect(budget.spent).toBeLessThanOrEqual(mostExpanded + 60_000)
  })

  it.each(['${A:-', '${A:-"', '${A:+${A:-'])('takes 10,000 nested %s without overflow', (opening) => {
    expect(() => expand(opening.repeat(10_000))).toThrow(ExpansionError)
    expect(() => expand(`${opening.repeat(10_000)}${'}'.repeat(20_000)}`)).toThrow(ExpansionError)
  })

  it('takes nesting up to its limit', () => {
    const nested = (depth: number) => `${'${A:-'.repeat(depth)}x${'}'.repeat(depth)}`
    expect(expand(nested(deepestNesting))).toBe('x')
    expect(() => expand(nested(deepestNesting + 1))).toThrow(/within each other/)
  })

  it('counts the branch that is not taken, which builders expand too', () => {
    expect(() => expand('${BIG:-$BIG$BIG}')).toThrow(/64 KiB/)
  })

  it('never takes a property that every object has for a variable', () => {
    expect(expand('$constructor$__proto__')).toBe('')
  })
})

describe('a Dockerfile that grows without end', () => {
  const from = 'FROM node:20'
  const env = growing('ENV')
  const doubledTwice = Array.from({ length: 40 }, () => 'ENV A=$A$A')
  it.each<[string, string]>([
    ['ARG before FROM', [...growing('ARG'), from].join('\n')],
    ['ARG of a stage', [from, ...growing('ARG')].join('\n')],
    ['ENV', [from, ...env].join('\n')],
    [
      'ENV over several stages',
      [`${from} AS s0`, ...env.flatMap((line, at) => [line, `FROM s${at} AS s${at + 1}`])].join('\n'),
    ],
    ['a variable that doubles', [from, 'ENV A=xx', ...doubledTwice].join('\n')],
    ['the old form of ENV', [from, 'ENV A xx', ...Array.from({ length: 40 }, () => 'ENV A $A$A')].join('\n')],
    [
      'a trigger of an earlier stage',
      [`${from} AS a`, ...env.map((line) => `ONBUILD ${line}`), 'FROM a'].join('\n'),
    ],
    ['LABEL', [from, ...growing('ENV', { levels: 3, times: 25 }), `LABEL a=${'$W2'.repeat(9)}`].join('\n')],
    ['WORKDIR', [from, 'ARG A', `WORKDIR /${'$A'.repeat(3_000)}`].join('\n')],
    [
      'a JSON list that hides the dollar',
      [from, 'ARG A', `COPY --chown=1 ["${'\\u0024A'.repeat(3_000)}", "/x"]`].join('\n'),
    ],
    [
      'a name of letters of another script',
      [from, 'ENV é=xx', ...Array.from({ length: 40 }, () => 'ENV é=$é$é')].join('\n'),
    ],
    ['a special parameter', [from, 'ENV @=xx', ...Array.from({ length: 40 }, () => 'ENV @=$@$@')].join('\n')],
    ['a name of digits', [from, 'ENV 1=xx', ...Array.from({ length: 40 }, () => 'ENV 1=$1$1')].join('\n')],
    [
      'single quotes that end in an escape character',
      [from, 'ENV B=xx', ...Array.from({ length: 40 }, () => "ENV A='x\\' B=$B$B")].join('\n'),
    ],
    [
      'another escape character',
      ['# escape=`', from, 'ENV A=xx', ...Array.from({ length: 40 }, () => 'ENV `\n A=$A$A')].join('\n'),
    ],
    [
      'lines that two escape characters end',
      [from, 'ENV A=xx', ...Array.from({ length: 40 }, () => 'LABEL a=b\\\\\nENV A=$A$A')].join('\n'),
    ],
    [
      'many words below the limit of one',
      [from, `ARG A=${'x'.repeat(60_000)}`, ...Array.from({ length: 20 }, (_, at) => `LABEL l${at}=$A`)].join(
        '\n',
      ),
    ],
  ])('is refused: %s', async (_title, dockerfile) => {
    expect(dockerfile.length).toBeLessThan(64 * 1024)
    await expect(check(dockerfile, { A: 'x'.repeat(60_000) })).rejects.toMatchObject({
      reason: 'build step',
      message: expect.stringMatching(/^Dockerfile line \d+: .*KiB/),
    })
  })

  it('is refused when the base image brings the variable, or the trigger', async () => {
    const env = new Map([['BIG', 'x'.repeat(60_000)]])
    await expect(check('FROM evil:1\nENV A=$BIG$BIG', {}, { env })).rejects.toThrow(/64 KiB/)
    const triggers = growing('ENV').map((line) => line)
    await expect(check('FROM evil:1\nRUN true', {}, { triggers })).rejects.toThrow(/64 KiB/)
  })

  it('reads no image whose name is not known before the expansion', async () => {
    const asked: string[] = []
    const baseOf = async (image: string) => {
      asked.push(image)
      return nothing
    }
    await checkExpansion('ARG V=20\nFROM node:$V AS a\nFROM a AS b\nFROM node:20\nFROM scratch', {}, baseOf)
    expect(asked).toEqual(['node:20', 'scratch'])
    await expect(checkExpansion([...growing('ARG'), 'FROM $W3'].join('\n'), {}, baseOf)).rejects.toThrow()
    expect(asked).toHaveLength(2)
  })

  it('does not slow the look for images of others', () => {
    const dockerfile = [...growing('ARG', { levels: 8 }), 'FROM $W7'].join('\n')
    expect(() => refuseOthersImages(dockerfile, {})).toThrow(/no image that a build may use/)
  })

  it.each([
    ['stages', Array.from({ length: 101 }, () => from).join('\n')],
    ['variables', [from, `ENV ${Array.from({ length: 1_001 }, (_, at) => `W${at}=`).join(' ')}`].join('\n')],
  ])('is refused for too many %s', async (what, dockerfile) => {
    await expect(check(dockerfile)).rejects.toThrow(what)
  })
})

describe('a word that the builder of the engine parses for long', () => {
  const long = 'x'.repeat(5_000)
  it.each([
    `ARG A=${long}\nFROM --platform=$A node:20`,
    'FROM --platform=linux/amd64/v8/more node:20',
    'FROM --other=1 node:20',
    `FROM node:20\nARG A=${long}\nEXPOSE $A`,
    `FROM node:20\nARG A=${long}\nCOPY --chown=$A . .`,
    `FROM node:20\nSTOPSIGNAL ${long}`,
  ])('is refused before the engine sees it: %.60s', async (dockerfile) => {
    await expect(check(dockerfile)).rejects.toMatchObject({ reason: 'build step' })
  })

  it.each(['', 'linux/amd64', '$BUILDPLATFORM', 'linux/arm64/v8'])(
    'takes --platform=%s',
    async (platform) => {
      await check(`FROM --platform=${platform} node:20`)
    },
  )
})

describe('an ordinary Dockerfile', () => {
  it.each([
    'FROM node:22-alpine\nENV PATH=$PATH:/app/bin\nWORKDIR /app\nCOPY . .\nRUN echo ${A%.*} && npm ci\nCMD ["npm", "start"]',
    'ARG V=22\nFROM node:${V}-alpine AS build\nARG V\nENV A=1 B="two words" C=\'it is $5\'\nLABEL note="a \\"b\\""\nFROM build\nCOPY --from=build ["a b", "/x/"]',
    'FROM a\nENV HOME /root dir\nARG TOKEN\nONBUILD ENV A=$B\nEXPOSE $PORT/tcp\nUSER ${UID:-1000}:${GID:-1000}',
    `FROM a\n${'ENV PATH=$PATH:/one/more/folder\n'.repeat(40)}`,
  ])('passes: %j', async (dockerfile) => {
    await check(dockerfile, { TOKEN: 't' }, { env: new Map([['PATH', '/usr/bin:/bin']]) })
  })
})

describe('reading', () => {
  it('refuses characters that readers take differently', () => {
    expect(() => assertReadable('\ufeffFROM a')).not.toThrow()
    for (const text of ['FROM a\nENV A=1\ufeffB=2', 'FROM a\0'])
      expect(() => assertReadable(text)).toThrow(/invisible/)
  })

  it('gives every way in which lines may go on', () => {
    const texts = (dockerfile: string) =>
      readingsOf(dockerfile).map(({ lines }) => lines.map(({ text }) => text))
    expect(texts('FROM a\nRUN b \\\n c')).toEqual([['FROM a', 'RUN b  c']])
    expect(texts('LABEL a=b\\\\\nFROM c')).toEqual([['LABEL a=b\\FROM c'], ['LABEL a=b\\\\', 'FROM c']])
    expect(texts('# escape=`\nFROM `\na')).toEqual([['FROM a']])
    expect(readingsOf('# a\n# escape=`\nFROM a')).toHaveLength(2)
  })

  it('keeps the lines of here-documents, and says when one has no end', () => {
    const { instructions } = parseDockerfile('FROM a\nRUN <<E\nENV a\n# b\nE\nRUN x')
    expect(instructions.map(({ keyword, line, text }) => [keyword, line, text])).toEqual([
      ['FROM', 1, 'a'],
      ['RUN', 2, '<<E\nENV a\n# b\nE'],
      ['RUN', 6, 'x'],
    ])
    expect(() => parseDockerfile('FROM a\nRUN <<E\nENV a')).toThrow(/line 2: the here-document E has no end/)
  })

  it('separates flags from arguments', () => {
    const { instructions } = parseDockerfile(
      'FROM --platform=linux/amd64 a\nCOPY --link --from=b c d\nCMD --x',
    )
    expect(instructions.map(({ flags, text }) => [flags, text])).toEqual([
      [[{ name: 'platform', value: 'linux/amd64' }], 'a'],
      [
        [
          { name: 'link', value: null },
          { name: 'from', value: 'b' },
        ],
        'c d',
      ],
      [[], '--x'],
    ])
  })
})

describe('the work of reading', () => {
  it('counts a trigger in each stage that runs it', async () => {
    const trigger = `ONBUILD LABEL ${'$a'.repeat(25_000)}`
    const stages = 'FROM base\n'.repeat(90)
    await expect(check(`FROM node\n${trigger}`)).resolves.toBeUndefined()
    await expect(check(`FROM node AS base\n${trigger}\n${stages}`)).rejects.toThrow(
      /with its ONBUILD triggers/,
    )
  })

  it('lets the event loop have its turn', async () => {
    let turns = 0
    const count = () => {
      turns += 1
      timer = setImmediate(count)
    }
    let timer = setImmediate(count)
    await check(`FROM node\n${`LABEL ${'$a'.repeat(5_000)}\n`.repeat(6)}`)
    clearImmediate(timer)
    expect(turns).toBeGreaterThan(1)
  })

  it('takes 2,500 lines', () => {
    expect(() => assertReadable(`FROM node\n${'\n'.repeat(2_490)}`)).not.toThrow()
    expect(() => assertReadable(`FROM node\n${'\n'.repeat(2_500)}`)).toThrow(/more than 2500 lines/)
  })
})

it('refuses a COPY of more than 100 sources, in every form: the engine would copy for hours', async () => {
  const sources = (count: number) => Array.from({ length: count }, (_, index) => `${'*'.repeat(index % 50)}?`)
  const refused = /line 2: COPY and ADD take 100 sources/
  await check(`FROM a\nCOPY ${sources(100).join(' ')} /x/`)
  await expect(check(`FROM a\nCOPY ${sources(101).join(' ')} /x/`)).rejects.toThrow(refused)
  await expect(check(`FROM a\nADD --chown=1 ${JSON.stringify([...sources(101), '/x/'])}`)).rejects.toThrow(
    refused,
  )
  const onBuild = { triggers: [`COPY ${sources(101).join(' ')} /x/`] }
  await expect(check('FROM a\nRUN x', {}, onBuild)).rejects.toThrow(/COPY and ADD take 100 sources/)
})
