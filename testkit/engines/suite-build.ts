import { readdir } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { EngineFailure } from '../../src/engines/engine.ts'
import { type SourceFiles, sampleDockerfile, sampleServerJs, writeSource } from '../builds/sample-sources.ts'
import type { SuiteInstallation } from './suite-installation.ts'

export function buildGuarantees(suite: SuiteInstallation): void {
  const files = (dockerfile: string): SourceFiles => ({ Dockerfile: dockerfile, 'server.js': sampleServerJs })
  const failure = async (attempt: Promise<unknown>): Promise<EngineFailure> => {
    const error = await attempt.then(
      () => new Error('it succeeded'),
      (reason: unknown) => reason,
    )
    expect(error, String(error)).toBeInstanceOf(EngineFailure)
    return error as EngineFailure
  }

  it('streams the build log during the build', async () => {
    const heard: { message: string; atMs: number }[] = []
    const steps = ['RUN echo the first line && sleep 2 && echo the second line']
    const { image } = await suite.build(files(sampleDockerfile(suite.baseImage, steps)), {}, (line) => {
      expect(Number.isNaN(Date.parse(line.timestamp))).toBe(false)
      heard.push({ message: line.message, atMs: performance.now() })
    })
    const endMs = performance.now()
    // The step's own text may be echoed too, so the output is looked for as a line that ends with it.
    const at = (text: string) => heard.findLast((line) => line.message.endsWith(text))?.atMs ?? Number.NaN
    expect(endMs - at('the first line')).toBeGreaterThan(500)
    expect(at('the second line') - at('the first line')).toBeGreaterThan(500)
    await suite.engine.removeImage(image)
  })

  it('reports a missing Dockerfile', async () => {
    const error = await failure(suite.build({ 'server.js': sampleServerJs }))
    expect(error.reason).toBe('no Dockerfile')
    expect(error.message).toContain('Dockerfile')
  })

  it('reports the failed RUN with its exit code and output', async () => {
    const heard: string[] = []
    const steps = ['RUN echo this cannot work && exit 7']
    const error = await failure(
      suite.build(files(sampleDockerfile(suite.baseImage, steps)), {}, (line) => heard.push(line.message)),
    )
    expect(error.reason).toBe('build step')
    expect(error.message).toContain('exit 7')
    expect(error.message).toMatch(/code:? 7/)
    expect(heard.join('\n')).toContain('this cannot work')
  })

  it('names an unknown instruction', async () => {
    const error = await failure(suite.build(files(sampleDockerfile(suite.baseImage, ['FETCH everything']))))
    expect(error.reason).toBe('build step')
    expect(error.message).toContain('FETCH')
  })

  it('reports the missing file of a COPY', async () => {
    const error = await failure(
      suite.build(files(sampleDockerfile(suite.baseImage, ['COPY missing-file.txt /app/']))),
    )
    expect(error.reason).toBe('build step')
    expect(error.message).toContain('missing-file.txt')
  })

  it('uses the given Dockerfile text instead of the one in the source', async () => {
    const heard: string[] = []
    const dockerfileContent = sampleDockerfile(suite.baseImage, ['RUN echo from the given text'])
    const { image } = await suite.build(files('BROKEN\n'), { dockerfileContent }, (line) =>
      heard.push(line.message),
    )
    expect(heard.join('\n')).toContain('from the given text')
    await suite.engine.removeImage(image)
  })

  it('finds context and Dockerfile below the source, and excludes files in .dockerignore', async () => {
    const dockerfile = sampleDockerfile(suite.baseImage, [
      'RUN test -f server.js && test ! -e notes.txt && test ! -e outside.txt',
    ])
    const { image } = await suite.build(
      {
        'outside.txt': 'x',
        'service/server.js': sampleServerJs,
        'service/notes.txt': 'x',
        'service/.dockerignore': 'notes.txt\n',
        'service/docker/app.Dockerfile': dockerfile,
      },
      { contextDir: 'service', dockerfilePath: 'docker/app.Dockerfile' },
    )
    await suite.engine.removeImage(image)
  })

  it('offers build arguments, and masks the secret ones in the log', async () => {
    const heard: string[] = []
    const steps = ['ARG COLOR', 'ARG KEY', 'RUN echo painted $COLOR with key $KEY']
    const { image } = await suite.build(
      files(sampleDockerfile(suite.baseImage, steps)),
      { buildArgs: { COLOR: 'teal', KEY: 'open-sesame-42' }, secretBuildArgs: ['open-sesame-42'] },
      (line) => heard.push(line.message),
    )
    expect(heard.join('\n')).toContain('painted teal with key ***')
    expect(heard.join('\n')).not.toContain('open-sesame-42')
    await suite.engine.removeImage(image)
  })

  it('never writes to the source', async () => {
    const source = await writeSource(
      files(sampleDockerfile(suite.baseImage, ['RUN rm server.js && touch new'])),
    )
    const { image } = await suite.build({}, { sourceDir: source.dir })
    expect((await readdir(source.dir)).sort()).toEqual(['Dockerfile', 'server.js'])
    await source.remove()
    await suite.engine.removeImage(image)
  })

  it('stops soon after an abort', async () => {
    const abort = new AbortController()
    const steps = ['RUN echo now waiting && sleep 60']
    let reportedMs = 0
    const error = await failure(
      suite.build(
        files(sampleDockerfile(suite.baseImage, steps)),
        {},
        (line) => {
          if (!line.message.endsWith('now waiting') || reportedMs > 0) return
          reportedMs = performance.now()
          abort.abort()
        },
        abort.signal,
      ),
    )
    expect(error.reason).toBe('interrupted')
    expect(performance.now() - reportedMs).toBeLessThan(30_000)
  })

  it('can remove an image twice, and an unknown one', async () => {
    const { image } = await suite.build(files(sampleDockerfile(suite.baseImage)))
    await suite.engine.removeImage(image)
    await suite.engine.removeImage(image)
    const error = await failure(suite.engine.apply(suite.spec({}, { image })))
    expect(error.message.length).toBeGreaterThan(20)
  })

  it('rejects an image that cannot be pulled, with the reason', async () => {
    const signal = new AbortController().signal
    const error = await failure(suite.engine.pull('127.0.0.1:1/nobody/nothing:1', () => {}, signal))
    expect(error.reason).toBe(suite.engine.kind === 'process' ? 'not supported' : 'image pull')
  })
}
