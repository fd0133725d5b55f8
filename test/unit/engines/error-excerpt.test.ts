import { describe, expect, it } from 'vitest'
import { BuildOutput } from '../../../src/engines/docker/build-output.ts'
import { ErrorExcerpt } from '../../../src/engines/error-excerpt.ts'

const npm = `npm error code EUSAGE
npm error
npm error The \`npm ci\` command can only install with an existing package-lock.json or
npm error npm-shrinkwrap.json with lockfileVersion >= 1. Run an install with npm@5 or
npm error later to generate a package-lock.json file, then try again.
npm error
npm error Clean install a project
npm error
npm error Usage:
npm error npm ci
npm error
npm error Options:
npm error [--install-strategy <hoisted|nested|shallow|linked>] [--legacy-bundling]
npm error [--global-style] [--omit <dev|optional|peer> [--omit <dev|optional|peer> ...]]
npm error [--include <prod|dev|optional|peer> [--include <prod|dev|optional|peer> ...]]
npm error [--strict-peer-deps] [--foreground-scripts] [--ignore-scripts] [--no-audit]
npm error [--no-bin-links] [--no-fund] [--dry-run]
npm error [-w|--workspace <workspace-name> [-w|--workspace <workspace-name> ...]]
npm error [-ws|--workspaces] [--include-workspace-root] [--install-links]
npm error
npm error aliases: clean-install, ic, install-clean, isntall-clean
npm error
npm error Run "npm help ci" for more info
npm error A complete log of this run can be found in: /root/.npm/_logs/x.log`

function excerptOf(text: string): string[] {
  const excerpt = new ErrorExcerpt()
  for (const line of text.split('\n')) excerpt.add(line)
  return excerpt.take()
}

describe('what is shown of a failed step', () => {
  it('begins with the error that npm follows with its help', () => {
    expect(excerptOf(npm)[0]).toContain('can only install with an existing package-lock.json')
  })

  it.each([
    ['tsc', 'compiled 10 files\nsrc/a.ts(3,1): error TS2304: Cannot find name "x".\n', /TS2304/],
    ['gcc', 'In file included\nmain.c:1:10: fatal error: x.h: No such file or directory\n', /x\.h/],
    [
      'python',
      `Collecting a\nERROR: No matching distribution found for b\n${'tail\n'.repeat(9)}`,
      /No matching/,
    ],
    ['a shell', '/bin/sh: 1: nmp: not found', /nmp: not found/],
    ['go', `# app\n./main.go:3:2: undefined: x\n`, /main\.go/],
    ['apk', `fetch x\nERROR: unable to select packages:\n  foo (no such package)\n`, /unable to select/],
  ])('names the error of %s', (_who, text, line) => {
    expect(excerptOf(text).slice(0, 3).join('\n')).toMatch(line)
  })

  it('is not led astray by warnings and by counts of no errors', () => {
    const text = 'npm warn deprecated error@1.0.0\nFound 0 errors\nError: the real one\n'
    expect(excerptOf(text)[0]).toBe('Error: the real one')
  })

  it('has the last lines where none names an error, and is short whatever is printed', () => {
    const quiet = Array.from({ length: 50 }, (_, index) => `line ${index}`).join('\n')
    expect(excerptOf(quiet)).toEqual(Array.from({ length: 8 }, (_, index) => `line ${index + 42}`))
    const loud = excerptOf(`Error: ${'x'.repeat(100_000)}\n`.repeat(1_000))
    expect(loud.join('\n').length).toBeLessThan(5_000)
  })

  it('is only the lines that name an error where some do, the late ones too', () => {
    const traceback = [
      'Traceback (most recent call last):',
      '  File "a.py", line 1',
      '    import x',
      '  File "b.py"',
    ]
    const text = [
      ...traceback,
      '    from y import z',
      '  File "c.py"',
      "ModuleNotFoundError: No module named 'y'",
    ]
    expect(excerptOf([...text, 'cleaning up', 'done'].join('\n'))).toEqual([
      ...text.slice(0, 5),
      '…',
      "ModuleNotFoundError: No module named 'y'",
    ])
    expect(excerptOf(npm)).toHaveLength(4)
    expect(excerptOf('a\nError: x\nnpm error A complete log of this run can be found in: y')).toEqual([
      'Error: x',
    ])
  })

  it('leaves out pointers to the log of npm itself, its help and its news', () => {
    const failed = [
      'npm error code E404',
      "npm error 404  'no-such-thing@*' is not in this registry.",
      'npm error 404',
      'npm error 404 Note that you can also install from a',
      'npm error 404 tarball, folder, http url, or git folder.',
      'npm notice New major version of npm available! 10.8.2 -> 11.0.0',
      'npm ERR! A complete log of this run can be found in:',
      'npm ERR!     /srv/home/.npm/_logs/2025-01-01T00_00_00_000Z-debug-0.log',
    ]
    expect(excerptOf(failed.join('\n'))).toEqual([failed[1]])
  })

  it('stands in the failure of a Docker build, of the step that failed only', () => {
    const output = new BuildOutput(() => {})
    for (const stream of [
      'Step 1/3 : FROM a\n',
      'Step 2/3 : RUN true\n',
      'Error: of another step\n',
      'Step 3/3 : RUN npm ci\n',
      `${npm}\n`,
    ])
      output.feed({ stream })
    output.feed({ error: "The command '/bin/sh -c npm ci' returned a non-zero code: 1" })
    expect(() => output.finish()).toThrow(
      /^Step 3\/3 "RUN npm ci" failed with exit code: 1\.\nnpm error The `npm ci` command can only install/,
    )
  })

  it('holds no line without end', () => {
    const lines: string[] = []
    const output = new BuildOutput(({ message }) => lines.push(message))
    for (let count = 0; count < 2_000; count += 1) output.feed({ stream: 'x'.repeat(10_000) })
    output.feed({ stream: '\n' })
    expect(lines.map(({ length }) => length)).toEqual([16 * 1024])
  })
})
