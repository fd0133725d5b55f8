import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { inputSchemaOf } from '../../../src/mcp/tools/schema.ts'
import { type FakeBackend, startFakeBackend } from '../../../testkit/fakes/backend.ts'
import { openToolSession, type ToolSession } from '../../../testkit/mcp/tool-session.ts'
import { tools } from '../../../tools/index.ts'

let backend: FakeBackend
let session: ToolSession
beforeEach(async () => {
  backend = await startFakeBackend()
  backend.state.add({ name: 'prod' })
  session = await openToolSession(backend.url)
})
afterEach(async () => {
  await session.close()
  await backend.close()
})

const tokens = (text: string) => encode(text).length
const namesOf = ({ structured }: { structured: Record<string, unknown> }) =>
  (structured.appEnvs as { cliEnvName: string }[]).map(({ cliEnvName }) => cliEnvName)

describe('maxTokens', () => {
  it('is taken by every read, with cursor, and by nothing else', () => {
    for (const tool of tools) {
      const names = Object.keys(inputSchemaOf(tool).shape)
      expect(names.includes('maxTokens') && names.includes('cursor'), tool.name).toBe(tool.hints.readOnly)
    }
  })

  it.each([200, 500, 2_000])(
    'shortens a list to %i tokens, and cursor reads all of it once',
    async (maxTokens) => {
      for (let index = 0; index < 59; index += 1) backend.state.add({ name: `env-${index}` })
      const list = (more: Record<string, unknown>) =>
        session.call('list-app-envs', { accountId: backend.state.account.accountId, maxTokens, ...more })
      const seen: string[] = []
      for (let cursor: unknown; seen.length === 0 || cursor !== undefined; ) {
        const read = await list(cursor === undefined ? {} : { cursor })
        expect(tokens(read.text)).toBeLessThanOrEqual(maxTokens)
        expect(tokens(JSON.stringify(read.structured))).toBeLessThanOrEqual(maxTokens)
        expect(read.text.split('\n')[0]).toMatch(/^60 environments/)
        seen.push(...namesOf(read))
        cursor = read.structured.cursor
        if (cursor !== undefined) {
          expect(cursor).toBe(`appEnvs:${seen.length}`)
          expect(read.text.split('\n')[1]).toContain(`cursor appEnvs:${seen.length} shows the next`)
        }
        expect(JSON.parse(read.text.slice(read.text.indexOf('\n{') + 1))).toEqual(read.structured)
      }
      expect(seen).toHaveLength(60)
      expect(new Set(seen).size).toBe(60)
    },
  )

  it('shortens the same answer in the same way', async () => {
    for (let index = 0; index < 30; index += 1) backend.state.add({ name: `env-${index}` })
    const input = { accountId: backend.state.account.accountId, maxTokens: 700 }
    const [one, other] = [
      await session.call('list-app-envs', input),
      await session.call('list-app-envs', input),
    ]
    expect(one).toEqual(other)
  })

  it('keeps the newest lines of a log, and goes on with older ones', async () => {
    backend.state.logs = Array.from({ length: 30 }, (_, index) => ({
      stream: 'stdout',
      message: `line ${index} ${'of a program '.repeat(8)}`,
    }))
    const read = (more: Record<string, unknown> = {}) =>
      session.call('get-logs', { envName: 'shop-prod', maxTokens: 800, ...more })
    const linesOf = (one: Awaited<ReturnType<typeof read>>) =>
      (one.structured.logs as { message: string }[]).map(({ message }) => Number(message.split(' ')[1]))
    const newest = await read()
    const count = linesOf(newest).length
    expect(count).toBeGreaterThan(1)
    expect(count).toBeLessThan(30)
    expect(linesOf(newest)).toEqual(Array.from({ length: count }, (_, index) => 30 - count + index))
    expect(newest.structured.cursor).toBe(`logs:${count}`)
    for (const line of linesOf(newest)) expect(newest.text).toContain(`line ${line} of`)
    const older = await read({ cursor: `logs:${count}` })
    expect(linesOf(older).at(-1)).toBe(30 - count - 1)
  })

  it('answers within 4,000 tokens by default, and one cursor reads a long log once', async () => {
    const lines = Array.from({ length: 1_000 }, (_, index) => `line ${index} ${'of a program '.repeat(10)}`)
    backend.state.logs = lines.map((message) => ({ stream: 'stdout', message }))
    const seen: number[] = []
    for (let cursor: unknown; seen.length === 0 || typeof cursor === 'string'; ) {
      const input = { envName: 'shop-prod', size: 1_000, ...(cursor === undefined ? {} : { cursor }) }
      const read = await session.call('get-logs', input)
      expect(tokens(read.text)).toBeLessThanOrEqual(4_000)
      expect(tokens(JSON.stringify(read.structured))).toBeLessThanOrEqual(4_000)
      const logs = read.structured.logs as { message: string }[]
      seen.unshift(...logs.map(({ message }) => Number(message.split(' ')[1])))
      cursor = read.structured.cursor
      if (typeof cursor === 'string') expect(read.text).toContain(`cursor ${cursor}`)
    }
    expect(seen).toEqual(lines.map((_, index) => index))
  })

  it('sends the operation its own cursor, also behind the position in a part of its response', async () => {
    await session.call('get-logs', { envName: 'shop-prod', cursor: '7.12' })
    backend.state.logs = Array.from({ length: 9 }, () => ({ stream: 'stdout', message: 'x' }))
    await session.call('get-logs', { envName: 'shop-prod', cursor: 'logs:3~7.12' })
    const sent = backend.state.calls.filter(({ id }) => id === 'get-logs').map(({ input }) => input.cursor)
    expect(sent).toEqual(['7.12', '7.12'])
  })

  it('cuts texts when a list of one item is still too long', async () => {
    backend.state.logs = [{ stream: 'stdout', message: 'x'.repeat(6_000) }]
    const { text, structured } = await session.call('get-logs', { envName: 'shop-prod', maxTokens: 300 })
    expect(tokens(text)).toBeLessThanOrEqual(300)
    expect(text).toContain('more characters)')
    expect(structured.notes).toContainEqual('Long texts are cut to maxTokens.')
  })

  it('a text that a read has cut is not written back', async () => {
    const set = [{ name: 'LONG', value: `${'x'.repeat(300)}… (900 more characters)` }]
    const said = await session.call('update-app-env-variables', { envName: 'shop-prod', set })
    expect(said.structured).toMatchObject({
      error: 'A text was cut by a read',
      details: expect.stringContaining('set.0.value'),
    })
    expect(backend.state.countOf('update-app-env-variables')).toBe(0)
  })

  it('leaves a result that fits as it is', async () => {
    const input = { accountId: backend.state.account.accountId }
    expect(await session.call('list-app-envs', { ...input, maxTokens: 100_000 })).toEqual(
      await session.call('list-app-envs', input),
    )
  })

  it.each([
    [{ cursor: 'nothing:3' }, 'cursor does not belong to this result'],
    [{ cursor: '__proto__:3' }, 'cursor does not belong to this result'],
    [{ cursor: 'appEnvs' }, 'cursor does not belong to this result'],
    [{ maxTokens: 5 }, 'Invalid request'],
    [{ maxTokens: 'few' }, 'Invalid request'],
  ])('refuses %j', async (input, error) => {
    const { accountId } = backend.state.account
    const { isError, structured } = await session.call('list-app-envs', { accountId, ...input })
    expect(isError).toBe(true)
    expect(structured.error).toBe(error)
  })
})
