import { describe, expect, it } from 'vitest'
import { buildFailure } from '../../../../src/engines/docker/build-output.ts'
import { explainBuildKit, refuseHereDocument } from '../../../../src/engines/docker/buildkit-only.ts'
import { EngineFailure } from '../../../../src/engines/engine.ts'

describe('explainBuildKit', () => {
  const explained = (message: string) =>
    (explainBuildKit(new EngineFailure('build step', message)) as Error).message

  it('says what to do instead of an option that only BuildKit has', () => {
    const failure = buildFailure(
      'the --mount option requires BuildKit. Refer to https://docs.docker.com/go/buildkit/ to learn how to enable it',
      { title: 'Step 2/3 "RUN --mount=type=cache,target=/x make"', instruction: 'RUN' },
    )
    const text = explained(failure.message)
    expect(text).toMatch(
      /^Step 2\/3 "RUN --mount=type=cache,target=\/x make": the --mount option is one of BuildKit/,
    )
    expect(text).not.toContain('http')
  })

  it.each([
    [
      'dockerfile parse error line 2: Unknown flag: link',
      /^Line 2 of the Dockerfile: the option --link .*Leave it out/,
    ],
    [
      'Step 1/4 failed: failed to parse platform : "" is an invalid component',
      /Put ARG BUILDPLATFORM before the first FROM/,
    ],
  ])('names the builder in: %s', (message, text) => {
    expect(explained(message)).toMatch(text)
  })

  it('leaves other failures as they are', () => {
    expect(explained('Step 2/3 "RUN x" failed')).toBe('Step 2/3 "RUN x" failed')
  })

  it.each([
    'RUN <<EOF\necho one\nEOF',
    'RUN cat <<"E F" > /x\none\nE F',
    'RUN cat \\\n <<-E.1\none\n\tE.1',
    'COPY <<A <<B /x/\na\nA\nb\nB',
  ])('a here-document is refused before the engine reads it: %j', (text) => {
    expect(() => refuseHereDocument(`FROM a\n${text}\n`)).toThrow(/has a here-document/)
  })

  it.each(['RUN echo $((1<<2))', 'RUN echo one\nRUN two', 'LABEL a="<<b"\n# b', 'RUN cat <<EOF'])(
    'is none of this: %j',
    (text) => {
      expect(() => refuseHereDocument(`FROM a\n${text}\n`)).not.toThrow()
    },
  )
})
