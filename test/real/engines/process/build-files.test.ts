// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of Dockerfiles
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import type { SourceFiles } from '../../../../testkit/builds/sample-sources.ts'
import { lines, ProcessFixture } from '../../../../testkit/engines/process-fixture.ts'

const fixture = new ProcessFixture('file')

describe('COPY and ADD', () => {
  const files: SourceFiles = { 'a.txt': 'A', 'b.txt': 'B', 'sub/c.txt': 'C', 'sub/deep/d.txt': 'D' }
  const treeAfter = async (...instructions: string[]) => {
    const { root } = await fixture.build(
      lines('FROM alpine', 'WORKDIR /app', ...instructions, 'CMD ["x"]'),
      files,
    )
    const names = (await readdir(root, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    return names.filter((name) => !name.endsWith('Dockerfile')).sort()
  }

  it.each<[string, string[]]>([
    ['COPY a.txt x', ['app/x']],
    ['COPY a.txt x/', ['app/x/a.txt']],
    ['COPY a.txt .', ['app/a.txt']],
    ['COPY a.txt /', ['a.txt']],
    ['COPY a.txt b.txt /to/', ['to/a.txt', 'to/b.txt']],
    ['COPY sub /to', ['to/c.txt', 'to/deep/d.txt']],
    ['COPY sub/ ./', ['app/c.txt', 'app/deep/d.txt']],
    ['COPY *.txt ./', ['app/a.txt', 'app/b.txt']],
    ['COPY [ab].txt s*/c.txt ./', ['app/a.txt', 'app/b.txt', 'app/c.txt']],
    ['COPY ["a.txt", "with space/"]', ['app/with space/a.txt']],
    ['COPY --chown=1:1 a.txt .', ['app/a.txt']],
    ['COPY a.txt ../../../up.txt', ['up.txt']],
    ['ADD sub/deep /to', ['to/d.txt']],
    ['ENV TO=/to/x\nCOPY a.txt ${TO}', ['to/x']],
  ])('%s', async (instruction, expected) => {
    expect(await treeAfter(instruction)).toEqual(expected)
  })

  it.each([
    ['COPY ../secret .', /outside/],
    ['COPY nothing* .', /nothing\* is not in the build context/],
    ['COPY a.txt b.txt x', /need a folder/],
    ['COPY a.txt', /needs a source/],
    ['COPY --from=golang:1 /x /y', /LONGSHORE_ENGINE=docker/],
    ['COPY --parents a.txt .', /--parents/],
    [`COPY ${'* '.repeat(101)}/x/`, /take 100 sources/],
    ['ADD https://example.com/x .', /does not download/],
    ['ADD x.tar.gz .', /does not unpack/],
    ['COPY sub/c.txt x\nCOPY a.txt x/deep/', /line 3: COPY a.txt x\/deep\/: a file exists where a folder/],
    ['ARG KEY=hidden-1\nCOPY ${KEY}.txt .', /line 3: COPY: \*\*\*SECRET\*\*\*.txt is not/],
    ['ONBUILD RUN x', /ONBUILD/],
    ['WORKDIR ${GONE:?must be given}', /must be given/],
  ])('%s is refused', async (instruction, message) => {
    const options = { secretBuildArgs: ['hidden-1'] }
    const build = fixture.build(lines('FROM alpine', instruction, 'CMD ["x"]'), files, options)
    await expect(build).rejects.toThrow(message)
  })

  it('never follows a link in the source', async () => {
    const secret = await mkdtemp(path.join(tmpdir(), 'longshore-secret-'))
    await writeFile(path.join(secret, 'key'), 'secret')
    const source = await mkdtemp(path.join(tmpdir(), 'longshore-links-'))
    await symlink(secret, path.join(source, 'dir'))
    await symlink(path.join(secret, 'key'), path.join(source, 'file'))
    for (const [index, from] of ['dir', 'dir/key', 'dir/*', 'file', '.', 'f*'].entries()) {
      await expect(
        fixture.engine.build(
          {
            appEnvId: 'env_1',
            contentId: `links_${index}`,
            sourceDir: source,
            contextDir: '.',
            dockerfilePath: 'Dockerfile',
            dockerfileContent: lines('FROM alpine', `COPY ${from} /x/`, 'CMD ["x"]'),
            buildArgs: {},
            secretBuildArgs: [],
          },
          () => {},
          new AbortController().signal,
        ),
        from,
      ).rejects.toThrow(/link/)
    }
    await rm(secret, { recursive: true })
    await rm(source, { recursive: true })
  })

  it('writes through links to where they lead in the image, never to the machine', async () => {
    const outside = await mkdtemp(path.join(tmpdir(), 'longshore-outside-'))
    const link = `RUN mkdir -p "${outside}" && ln -s "${outside}" out && ln -s "${outside}/new" file`
    const steps = ['COPY a.txt out/', 'COPY a.txt out/deep/x', 'COPY a.txt /file', 'WORKDIR out/below']
    const { root } = await fixture.build(lines('FROM alpine', link, ...steps, 'CMD ["x"]'), files)
    for (const name of [`${outside}/a.txt`, `${outside}/deep/x`, 'file'])
      expect(await readFile(path.join(root, name), 'utf8')).toBe('A')
    expect(await readdir(path.join(root, outside))).toContain('below')
    expect(await readdir(outside)).toEqual([])
    await rm(outside, { recursive: true })
  })

  it('honors .dockerignore as Docker does: from the root, last pattern wins', async () => {
    const { root } = await fixture.build(lines('FROM alpine', 'COPY . /x', 'CMD ["y"]'), {
      ...files,
      'modules/a/index.js': '',
      '.dockerignore': lines(
        ...['# comment', '*.txt', 'sub', '!sub/deep/d.txt', 'modules', 'Dockerfile', '.dockerignore'],
      ),
    })
    const names = (await readdir(path.join(root, 'x'), { recursive: true })) as string[]
    expect(names.sort()).toEqual(['sub', 'sub/deep', 'sub/deep/d.txt'])
  })
})

describe('stages', () => {
  it('copies from an earlier one by name and number, links included, and drops its tree', async () => {
    const dockerfile = lines(
      'FROM node:20 AS Build',
      'WORKDIR /src',
      'RUN mkdir -p bin && echo built > bin/tool && ln -s tool bin/alias && ln -s "$PWD/bin/tool" absolute',
      'FROM build AS middle',
      'RUN echo more > more.txt',
      'FROM alpine',
      'COPY --from=build /src/bin /bin2/',
      'COPY --from=1 /src/more.txt /src/absolute /',
      'CMD ["cat", "/bin2/alias", "/more.txt"]',
    )
    const { image, root } = await fixture.build(dockerfile)
    expect(await fixture.run(image)).toEqual(['built', 'more'])
    expect(await readdir(path.dirname(root))).not.toContain('stages')
  })
})
