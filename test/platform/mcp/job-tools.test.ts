import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type FakeBackend, startFakeBackend } from '../../../testkit/fakes/backend.ts'
import { openToolSession, type ToolSession } from '../../../testkit/mcp/tool-session.ts'

describe('start-job-run as a tool', () => {
  let backend: FakeBackend
  let session: ToolSession
  const job = { envName: 'shop-job' }

  beforeEach(async () => {
    backend = await startFakeBackend()
    backend.state.add({ name: 'job', isJob: true, dockerPreset: 'JOB' })
    backend.state.add({ name: 'prod' })
    session = await openToolSession(backend.url)
  })
  afterEach(async () => {
    await session.close()
    await backend.close()
  })

  it('waits until the run has ended and returns its outcome', async () => {
    const said = await session.call('start-job-run', job)
    expect(said.isError).toBe(false)
    expect(said.structured.jobRun).toMatchObject({ status: 'SUCCEEDED', exitCode: 0 })
    expect(said.text).toContain('SUCCEEDED with exit code 0')
    expect(backend.state.countOf('get-job-run')).toBeGreaterThan(0)
  })

  it('returns immediately with the id for wait false', async () => {
    const said = await session.call('start-job-run', { ...job, wait: false })
    expect(said.structured.jobRun).toMatchObject({
      jobRunId: expect.stringMatching(/^run_/),
      finishedAt: null,
    })
    expect(said.text).toMatch(/^Run run_\w+ is PENDING\. Poll get-job-run until it has ended/)
    expect(backend.state.countOf('get-job-run')).toBe(0)
  })

  it('get-logs of a run names the missing input, and shows that it is the JOB log', async () => {
    backend.state.logs = [{ stream: 'stdout', message: 'did it' }]
    const alone = await session.call('get-logs', { jobRunId: 'run_1' })
    expect(alone.structured.details).toContain('appEnvId of the run')
    const said = await session.call('get-logs', { ...job, jobRunId: 'run_1' })
    expect(said.text).toMatch(/^1 line of the JOB log, newest last\./)
    const done = await session.call('start-job-run', job)
    expect(done.text).toContain('get-logs with appEnvId and jobRunId')
  })

  it('is an error when the run did not succeed, with the run', async () => {
    backend.state.runs.ends = 'FAILED'
    const said = await session.call('start-job-run', job)
    expect(said.isError).toBe(true)
    expect(said.structured.jobRun).toMatchObject({ status: 'FAILED', exitCode: 3 })
    expect(said.text).toContain('exit code 3')
  })

  it('E4 rejects environments of other apps before starting a run', async () => {
    const said = await session.call('start-job-run', { envName: 'shop-prod' })
    expect(said.structured).toMatchObject({ rule: 'E4' })
    expect(backend.state.countOf('start-job-run')).toBe(0)
  })

  it('warns that an empty command removes the override', async () => {
    const said = await session.call('update-job-config', { ...job, command: '' })
    expect(said.structured.notes).toEqual([expect.stringContaining('override is removed')])
  })
})
