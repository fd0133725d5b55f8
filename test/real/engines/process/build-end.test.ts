import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { EngineFailure } from '../../../../src/engines/engine.ts'
import { ProcessFixture } from '../../../../testkit/engines/process-fixture.ts'
import { until } from '../../../../testkit/engines/suite.ts'

const fixture = new ProcessFixture('test')

/** The supervisors of this data directory, by their command line. */
function supervisorPids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`--home\0${fixture.installation.home}\0`)
      } catch {
        return false
      }
    })
    .map(Number)
}

describe('a build', () => {
  it('that prints without end keeps its beginning, its last lines and its failure', async () => {
    const printed: string[] = []
    const dockerfile =
      'FROM alpine\nRUN echo first; yes | head -n 1000000; echo error: last; exit 3\nCMD ["x"]\n'
    const { engine, installation } = fixture
    const building = installation.build(engine, { Dockerfile: dockerfile }, {}, ({ message }) =>
      printed.push(message),
    )
    await expect(building).rejects.toThrow(/failed with exit code 3:\nerror: last/)
    expect(printed.length).toBeLessThan(100_000)
    expect(printed).toContain('first')
    expect(printed.filter((message) => /left out/.test(message))).toHaveLength(1)
    expect(printed.at(-1)).toBe('error: last')
  })

  it('ends with the engine that started it', async () => {
    const other = await fixture.installation.open()
    const printed: string[] = []
    const building = fixture.installation
      .build(other, { Dockerfile: 'FROM alpine\nRUN echo runs && sleep 500\nCMD ["x"]\n' }, {}, (line) =>
        printed.push(line.message),
      )
      .catch((error: unknown) => error)
    await until('the step runs', () => printed.includes('runs') || null)
    expect(fixture.stepPids()).not.toEqual([])
    await other.close()
    await until('its processes are gone', () => fixture.stepPids().length === 0 || null)
    expect(await building).toBeInstanceOf(Error)
  })

  it('is interrupted, its step ended, when the supervisor is killed', async () => {
    const building = fixture.installation.build(
      fixture.engine,
      { Dockerfile: 'FROM alpine\nRUN echo runs && sleep 500\nCMD ["x"]\n' },
      {},
      ({ message }) => {
        if (message === 'runs') process.kill(supervisorPids()[0]!, 'SIGKILL')
      },
    )
    await expect(building).rejects.toMatchObject({ reason: 'interrupted' })
    await fixture.engine.list()
    expect(fixture.stepPids()).toEqual([])
  })

  it('tells why it was aborted when the caller says so', async () => {
    const abort = new AbortController()
    await expect(
      fixture.installation.build(
        fixture.engine,
        { Dockerfile: 'FROM alpine\nRUN echo now && sleep 500\nCMD ["x"]\n' },
        { signal: abort.signal },
        (line) => line.message === 'now' && abort.abort(new EngineFailure('build timeout', 'took too long')),
      ),
    ).rejects.toMatchObject({ reason: 'build timeout' })
  })
})
