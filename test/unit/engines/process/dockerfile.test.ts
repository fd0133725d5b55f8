// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of Dockerfiles
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutMark, longestLine } from '../../../../src/domain/environments/log-lines.ts'
import { ExpansionBudget, expandWord, splitWords } from '../../../../src/engines/dockerfile/expand.ts'
import { parseDockerfile } from '../../../../src/engines/dockerfile/parse.ts'
import { LineSplitter } from '../../../../src/engines/line-splitter.ts'
import { runtimeOf } from '../../../../src/engines/process/host-runtimes.ts'

describe('words of a Dockerfile', () => {
  const values: Record<string, string> = { A: 'one', EMPTY: '', B: 'two words' }
  const expand = (text: string) =>
    expandWord(text, (name) => values[name], { escapeChar: '\\', budget: new ExpansionBudget() })

  it.each([
    ['$A', 'one'],
    ['${A}b', 'oneb'],
    ['$AB', ''],
    ['x$A/y$B', 'xone/ytwo words'],
    ['${MISSING:-else $A}', 'else one'],
    ['${EMPTY:-else}', 'else'],
    ['${EMPTY-else}', ''],
    ['${A:+set}', 'set'],
    ['${EMPTY:+set}', ''],
    ['${EMPTY+set}', 'set'],
    ['${MISSING:-${A:-x}}', 'one'],
    ['"$A b"', 'one b'],
    ["'$A b'", '$A b'],
    ['\\$A', '$A'],
    ['"\\$A \\" \\n"', '$A " \\n'],
    ['a\\ b', 'a b'],
    ['5$', '5$'],
  ])('expands %s to %s', (text, expected) => {
    expect(expand(text)).toBe(expected)
  })

  it.each(['"open', "'open", '${A', '${A!x}', '${MISSING:?is needed}'])('refuses %s', (text) => {
    expect(() => expand(text)).toThrow()
  })

  it('splits at white space outside quotes', () => {
    expect(splitWords("a  \"b c\" 'd e' f\\ g h='i \"j'")).toEqual([
      'a',
      '"b c"',
      "'d e'",
      'f\\ g',
      "h='i \"j'",
    ])
  })

  it('never hangs and never throws anything but its own error, whatever the text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('$', '{', '}', '\\', '"', "'", ':', '-', '?', 'A', ' ') }),
        (text) => {
          try {
            splitWords(text).map(expand)
          } catch (error) {
            expect((error as Error).constructor.name).toBe('ExpansionError')
          }
        },
      ),
      { numRuns: 2_000 },
    )
  })
})

describe('parsing a Dockerfile', () => {
  it('joins continued lines and drops the comments and blanks between them', () => {
    const { instructions } = parseDockerfile('FROM node\nRUN a && \\\n  # why\n\n  b\r\nCMD ["x", "a b"]\n')
    expect(instructions.map(({ keyword, line, text }) => [keyword, line, text.replace(/ +/g, ' ')])).toEqual([
      ['FROM', 1, 'node'],
      ['RUN', 2, 'a && b'],
      ['CMD', 6, '["x", "a b"]'],
    ])
    expect(instructions[2]!.exec).toEqual(['x', 'a b'])
  })

  it('takes what is no JSON array of strings as the shell form', () => {
    const { instructions } = parseDockerfile("FROM node\nCMD ['node', 'x']\nRUN [ -f x ]\nRUN [1]")
    expect(instructions.slice(1).map(({ exec }) => exec)).toEqual([null, null, null])
  })

  it('follows the escape directive', () => {
    const { instructions } = parseDockerfile('# escape=`\nFROM node\nRUN a `\n b\n')
    expect(instructions[1]!.text.replace(/ +/g, ' ')).toBe('a b')
  })

  it.each([
    ['', /no instructions/],
    ['# only a comment\n', /no instructions/],
    ['RUN echo\n', /line 1: the first instruction must be FROM/],
    ['FROM node\nFRMO x\n', /line 2: unknown instruction FRMO/],
    ['FROM node\nCMD\n', /line 2: CMD needs an argument/],
    [`FROM node\nRUN ${'x'.repeat(200_000)}`, /longer than 64 KiB/],
  ])('refuses bad text %#', (text, message) => {
    expect(() => parseDockerfile(text)).toThrow(message)
  })

  it('ends with an answer or a build failure on any text', () => {
    const piece = fc.constantFrom(
      'FROM a',
      'RUN <<E',
      'E',
      '\\',
      '\n',
      ' ',
      '[',
      '"',
      '$',
      '# escape=`',
      '--x=',
      'COPY',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        try {
          parseDockerfile(pieces.join(''))
        } catch (error) {
          expect(error).toMatchObject({ reason: 'build step' })
        }
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('bases', () => {
  it.each([
    ['node', 'node'],
    ['node:20-alpine', 'node'],
    ['docker.io/library/node:22@sha256:abc', 'node'],
    ['gcr.io/distroless/nodejs20-debian12', 'node'],
    ['python:3.12-slim', 'python'],
    ['alpine:3.20', 'system'],
    ['scratch', 'system'],
    ['localhost:5000/debian', 'system'],
    ['golang:1.22', null],
    ['nodered/node-red', null],
    ['postgres:16', null],
  ])('knows %s as %s', (image, runtime) => {
    expect(runtimeOf(image)).toBe(runtime)
  })
})

describe('lines', () => {
  const split = (chunks: Buffer[]) => {
    const lines: string[] = []
    const splitter = new LineSplitter((line) => lines.push(line))
    for (const chunk of chunks) splitter.push(chunk)
    splitter.end()
    return lines
  }

  it('come out the same however the bytes are cut into chunks', () => {
    const text = 'first\r\nsecönd …\n\nlast'
    const bytes = Buffer.from(text)
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length)), (cuts) => {
        const at = [0, ...cuts.sort((a, b) => a - b), bytes.length]
        const chunks = at.slice(1).map((end, index) => bytes.subarray(at[index], end))
        expect(split(chunks)).toEqual(['first', 'secönd …', '', 'last'])
      }),
    )
  })

  it('are cut at 8 KiB, between characters, and say so', () => {
    const [line, next] = split([Buffer.from(`a${'é'.repeat(20_000)}\nnext\n`)])
    const room = longestLine - Buffer.byteLength(cutMark)
    expect(line).toBe(`a${'é'.repeat(Math.floor((room - 1) / 2))}${cutMark}`)
    expect(Buffer.byteLength(line!)).toBeLessThanOrEqual(longestLine)
    expect(next).toBe('next')
    expect(split([Buffer.from(`${'x'.repeat(longestLine)}\n`)])).toEqual(['x'.repeat(longestLine)])
  })
})
