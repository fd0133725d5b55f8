import { expect, it } from 'vitest'
import { cutMark } from '../../../../src/domain/environments/log-lines.ts'
import { createMask } from '../../../../src/domain/environments/secret-masker.ts'
import { BuildOutput, hasLostLayer } from '../../../../src/engines/docker/build-output.ts'
import { ExpansionBudget, expandWord } from '../../../../src/engines/dockerfile/expand.ts'
import { EngineFailure } from '../../../../src/engines/engine.ts'

const secret = 's3cret-of-the-build'
const mask = createMask([secret])

it('E2 masks what a failure quotes before it is cut', () => {
  const output = new BuildOutput(() => {}, mask)
  output.feed({ stream: `Step 2/3 : RUN ${'make '.repeat(35)}${secret}\n` })
  output.feed({ stream: `error: ${'x'.repeat(285)}${secret}\n` })
  output.feed({ error: 'The command returned a non-zero code: 2' })
  expect(() => output.finish()).toThrow(/exit code: 2[\s\S]*error: xxx/)
  expect(() => output.finish()).not.toThrow(/s3c/)
})

it('E2 marks a line that it cuts, so that the beginning of a secret at the cut is masked', () => {
  const lines: string[] = []
  const output = new BuildOutput(({ message }) => lines.push(mask(message)))
  const long = `${'a'.repeat(16 * 1024 - cutMark.length - 5)}${secret}${'a'.repeat(99)}`
  output.feed({ stream: `${long}\n` })
  for (const piece of [long, ' and more']) output.feed({ stream: piece })
  output.feed({ error: 'gone' })
  expect(() => output.finish()).toThrow()
  expect(lines[0]!.length).toBeGreaterThan(16_000)
  expect(lines.filter((line) => line.includes('s3c'))).toEqual([])
})

it('E2 does not cut an expanded value before the build masks it', () => {
  const lookup = (name: string) => (name === 'TOKEN' ? `${'x'.repeat(95)}${secret}` : undefined)
  const expand = () =>
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the Dockerfile
    expandWord('${NONE:?$TOKEN}', lookup, { escapeChar: '\\', budget: new ExpansionBudget() })
  expect(expand).toThrow(secret)
})

it('keeps the beginning and the end of a build that prints without end, and its failure', async () => {
  const lines: string[] = []
  const output = new BuildOutput(({ message }) => lines.push(message))
  const chunk = 'y\n'.repeat(4_000)
  async function* messages() {
    yield { stream: 'Step 2/3 : RUN yes\n' }
    for (let sent = 0; sent < 1_000; sent += 1) yield { stream: chunk }
    yield { stream: 'Step 3/3 : RUN make\n' }
    yield { stream: 'the last line\nerror: no rule\n' }
    yield { error: 'The command returned a non-zero code: 2' }
  }
  let turns = 0
  const counter = setInterval(() => (turns += 1), 0)
  await output.feedAll(messages())
  clearInterval(counter)
  expect(() => output.finish()).toThrow(/^Step 3\/3 "RUN make" failed with exit code: 2.\nerror: no rule/)
  expect(lines.length).toBeLessThan(100_000)
  expect(lines[0]).toBe('Step 2/3 : RUN yes')
  expect(lines.slice(-4)).toEqual([
    'Step 3/3 : RUN make',
    'the last line',
    'error: no rule',
    'The command returned a non-zero code: 2',
  ])
  expect(lines.filter((line) => /left out/.test(line))).toHaveLength(1)
  expect(turns).toBeGreaterThan(5)
})

it.each([
  ['unable to find image "sha256:ID"', true],
  ['failed to set parent sha256:ID: unknown parent image ID sha256:ID', true],
  [
    'failed to get digest sha256:ID: open /var/lib/docker/image/overlay2/imagedb/content/sha256/ID: no such file or directory',
    true,
  ],
  ['COPY failed: file not found in build context', false],
])('tells a layer that was removed meanwhile from a fault of the source: %s', (text, isLost) => {
  const output = new BuildOutput(() => {})
  output.feed({ stream: 'Step 3/7 : COPY server.js .\n' })
  output.feed({ error: text.replaceAll(/(?<=sha256[:/])ID/g, 'a1'.repeat(32)) })
  const failure = failureOf(() => output.finish())
  expect(failure).toBeInstanceOf(EngineFailure)
  expect(hasLostLayer(failure as EngineFailure)).toBe(isLost)
})

function failureOf(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}
