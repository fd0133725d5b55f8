import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { lines, ProcessFixture } from '../../../../testkit/engines/process-fixture.ts'

const fixture = new ProcessFixture('file', { noRoot: true })
const files = { 'a.txt': 'A' }

describe('a machine that offers no private root', () => {
  it('says so', () => {
    expect(fixture.engine.isolation?.().reason).toMatch(/does NOT isolate.*no private root: a test/)
  })

  it('makes new folders of the image in the image', async () => {
    const name = `/longshore-test-${process.pid}`
    const { root } = await fixture.build(
      lines('FROM alpine', `RUN mkdir ${name} && touch ${name}/x`, 'CMD ["y"]'),
    )
    expect(existsSync(path.join(root, name, 'x'))).toBe(true)
    expect(existsSync(name)).toBe(false)
  })

  it('installs nothing into this machine, and skips users and owners', async () => {
    for (const step of ['apt-get update', 'corepack enable']) {
      const dockerfile = lines('FROM debian', `RUN ${step}`, 'CMD ["x"]')
      await fixture.refused(dockerfile).toThrow(/LONGSHORE_ENGINE=docker/)
    }
    const dockerfile = lines('FROM alpine', 'RUN adduser -S app && chown app /', 'CMD ["x"]')
    const { log } = await fixture.build(dockerfile)
    expect(log.join('\n')).toMatch(/adduser: skipped[\s\S]*chown: skipped/)
  })

  it('refuses a command with thousands of paths, each of which it resolves', async () => {
    const dockerfile = lines('FROM node', `RUN true${' /a'.repeat(2_000)}`, 'CMD ["x"]')
    await fixture.refused(dockerfile).toMatchObject({ reason: 'build step' })
  })

  it('never writes through a link that leads out of the image', async () => {
    const outside = await mkdtemp(path.join(tmpdir(), 'longshore-outside-'))
    const link = `RUN ln -s "${outside}" out && ln -s "${outside}/new" file`
    for (const step of ['COPY a.txt out/', 'WORKDIR out', 'COPY a.txt out/deep/x'])
      await fixture.refused(lines('FROM alpine', link, step, 'CMD ["x"]'), files).toThrow(/leads out/)
    const { root } = await fixture.build(lines('FROM alpine', link, 'COPY a.txt /file', 'CMD ["x"]'), files)
    expect(await readFile(path.join(root, 'file'), 'utf8')).toBe('A')
    expect(await readdir(outside)).toEqual([])
    await rm(outside, { recursive: true })
  })

  it('runs containers with a private HOME', async () => {
    const { image } = await fixture.build(
      lines('FROM node', 'WORKDIR /app', 'COPY a.txt .', 'CMD cat /app/a.txt && echo && echo $HOME'),
      files,
    )
    expect(await fixture.run(image)).toEqual(['A', expect.stringContaining('/containers/one-')])
  })
})
