import { describe, expect, it } from 'vitest'
import { withoutSecretMounts, withSecretMounts } from '../../../../src/engines/buildkit/dockerfile.ts'

const salt = '--mount=type=secret,id=longshore-env_a '
const token = '--mount=type=secret,id=TOKEN,env=TOKEN '
const rewrite = (...lines: string[]) =>
  withSecretMounts(lines.join('\n'), { appEnvId: 'env_a', secretNames: new Set(['TOKEN']) }).split('\n')

describe('secrets of a build', () => {
  it('reach the RUN instructions after the ARG that declares them, and only in its stage', () => {
    expect(
      rewrite('FROM a AS one', 'RUN npm ci', 'ARG TOKEN', 'RUN npm ci', 'FROM one', 'run  npm run build'),
    ).toEqual([
      'FROM a AS one',
      `RUN ${salt}npm ci`,
      'ARG TOKEN',
      `RUN ${salt}${token}npm ci`,
      'FROM one',
      `run ${salt}npm run build`,
    ])
  })

  it('replace the default of their ARG, which would hide them', () => {
    expect(rewrite('FROM a', 'ARG TOKEN=none', 'ARG OTHER=1 TOKEN')).toEqual([
      'FROM a',
      'ARG TOKEN',
      'ARG OTHER=1 TOKEN',
    ])
  })

  it('leave every other line where it was', () => {
    const lines = [
      '# escape=`',
      'FROM a',
      'ARG TOKEN',
      'RUN echo a `',
      '  # comment',
      '  RUN b',
      'COPY RUN /run',
    ]
    const rewritten = rewrite(...lines)
    expect(rewritten[3]).toBe(`RUN ${salt}${token}echo a \``)
    expect(rewritten.filter((_, index) => index !== 3)).toEqual(lines.filter((_, index) => index !== 3))
  })

  it('keep the flags that a RUN has, also on a later line', () => {
    expect(rewrite('FROM a', 'RUN --mount=type=cache,target=/c x', 'RUN \\', ' --network=none x')).toEqual([
      'FROM a',
      `RUN ${salt}--mount=type=cache,target=/c x`,
      `RUN ${salt}\\`,
      ' --network=none x',
    ])
  })

  it('leave no trace in what BuildKit prints', () => {
    expect(withoutSecretMounts(`[1/2] RUN ${salt}${token}npm ci`)).toBe('[1/2] RUN npm ci')
    const own = 'RUN --mount=type=secret,id=npmrc,target=/root/.npmrc npm ci'
    expect(withoutSecretMounts(own)).toBe(own)
  })
})
