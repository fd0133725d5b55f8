import { expect, it } from 'vitest'
import type { SuiteInstallation } from './suite-installation.ts'

/** Containers that run a command to its end instead of their image's own: job runs. */
export function commandGuarantees(suite: SuiteInstallation): void {
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
    return { spec, ended, messages: await suite.messages(spec.name) }
  }

  it('runs a command to its end with its arguments, and reports its exit', async () => {
    const { ended, messages } = await run(['/bin/sh', '-lc', 'echo "got $1 $COLOR"; exit 3', 'sh', 'one'], {
      env: { COLOR: 'red' },
    })
    expect(ended).toMatchObject({ exitCode: 3, address: null })
    expect(messages).toContain('got one red')
  })

  it('passes arguments unchanged without a shell', async () => {
    const { ended, messages } = await run([
      'node',
      '-e',
      'console.log(process.argv.slice(1).join(" "))',
      'a;',
      '$1',
    ])
    expect(ended.exitCode).toBe(0)
    expect(messages).toContain('a; $1')
  })

  it('a login shell finds the programs of the PATH that the container has', async () => {
    const PATH = '/opt/tools/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
    const words = ['/bin/sh', '-lc', 'echo "$PATH" "$1"', 'sh', 'a "b"; $c']
    const { ended, messages } = await run(words, { env: { PATH } })
    expect(ended.exitCode).toBe(0)
    expect(messages.at(-1)).toMatch(/^[^:]*\/opt\/tools\/bin:.* a "b"; \$c$/)
  })

  it('runs in the working directory, which it makes', async () => {
    const { messages } = await run(['/bin/sh', '-lc', 'pwd'], { workingDir: '/jobs/inner' })
    expect(messages.at(-1)).toMatch(/\/jobs\/inner$/)
  })

  it('takes a relative working directory from that of the image, and never leaves the container by it', async () => {
    const inner = await run(['/bin/sh', '-lc', 'pwd'], { workingDir: 'inner' })
    expect(inner.messages.at(-1)).toMatch(/\/app\/inner$/)
    const outer = await run(['/bin/sh', '-lc', 'pwd'], { workingDir: '../../../../../../../../../app' })
    expect(outer.messages.at(-1)).toMatch(/^\/app$|\/engine\/images\/[^/]+\/root\/app$/)
  })

  it('fails immediately with a reason if the working directory is a file', async () => {
    const command = ['/bin/sh', '-lc', 'pwd']
    const apply = suite.engine.apply(suite.spec({}, { port: null, command, workingDir: '/app/server.js' }))
    await expect(apply).rejects.toMatchObject({ name: 'EngineFailure' })
  })

  it('never runs an ended command again', async () => {
    const { spec } = await run(['/bin/sh', '-lc', 'echo once'])
    expect(await suite.engine.apply(spec)).toMatchObject({ state: 'exited', exitCode: 0 })
    expect(await suite.messages(spec.name)).toEqual(['once'])
  })

  it('reports a missing program', async () => {
    const { ended } = await run(['/bin/sh', '-lc', 'no-such-program-here'])
    expect(ended.exitCode).toBe(127)
  })
}
