import { expect, it } from 'vitest'
import type { SuiteInstallation } from './suite-installation.ts'

/** Containers that run a command to its end instead of what their image says: job runs. */
export function commandPromises(suite: SuiteInstallation): void {
  const run = async (
    command: readonly string[],
    change: { workingDir?: string; env?: Record<string, string> } = {},
  ) => {
    const spec = suite.spec(change.env ?? {}, {
      port: null,
      command,
      ...(change.workingDir ? { workingDir: change.workingDir } : {}),
    })
    await suite.engine.apply(spec)
    const ended = await suite.exited(spec.name)
    return { spec, ended, said: await suite.messages(spec.name) }
  }

  it('runs a command to its end with its arguments, and says how it ended', async () => {
    const { ended, said } = await run(['/bin/sh', '-lc', 'echo "got $1 $COLOR"; exit 3', 'sh', 'one'], {
      env: { COLOR: 'red' },
    })
    expect(ended).toMatchObject({ exitCode: 3, address: null })
    expect(said).toContain('got one red')
  })

  it('passes words as they are when there is no shell', async () => {
    const { ended, said } = await run([
      'node',
      '-e',
      'console.log(process.argv.slice(1).join(" "))',
      'a;',
      '$1',
    ])
    expect(ended.exitCode).toBe(0)
    expect(said).toContain('a; $1')
  })

  it('runs in the working directory, which it makes', async () => {
    const { said } = await run(['/bin/sh', '-lc', 'pwd'], { workingDir: '/jobs/inner' })
    expect(said.at(-1)).toMatch(/\/jobs\/inner$/)
  })

  it('takes a relative working directory from that of the image, and never leaves the container by it', async () => {
    const inner = await run(['/bin/sh', '-lc', 'pwd'], { workingDir: 'inner' })
    expect(inner.said.at(-1)).toMatch(/\/app\/inner$/)
    const outer = await run(['/bin/sh', '-lc', 'pwd'], { workingDir: '../../../../../../../../../app' })
    expect(outer.said.at(-1)).toMatch(/^\/app$|\/engine\/images\/[^/]+\/root\/app$/)
  })

  it('fails at once, and says so, where the working directory is a file', async () => {
    const command = ['/bin/sh', '-lc', 'pwd']
    const apply = suite.engine.apply(suite.spec({}, { port: null, command, workingDir: '/app/server.js' }))
    await expect(apply).rejects.toMatchObject({ name: 'EngineFailure' })
  })

  it('never runs an ended command again', async () => {
    const { spec } = await run(['/bin/sh', '-lc', 'echo once'])
    expect(await suite.engine.apply(spec)).toMatchObject({ state: 'exited', exitCode: 0 })
    expect(await suite.messages(spec.name)).toEqual(['once'])
  })

  it('says that a program is not there', async () => {
    const { ended } = await run(['/bin/sh', '-lc', 'no-such-program-here'])
    expect(ended.exitCode).toBe(127)
  })
}
