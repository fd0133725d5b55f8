import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HttpFixture } from '../../../testkit/mcp/http-fixture.ts'
import { rpc2026 } from '../../../testkit/mcp/rpc-2026.ts'
import { openToolSession } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

const fixture = new HttpFixture()

async function ask(method: string, params: Record<string, unknown> = {}) {
  const { body } = await fixture.raw(rpc2026(method, params))
  return JSON.parse(body)
}

const sha256 = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`

describe('skills of 2026-07-28', () => {
  it('are declared, listed with digests, and read as resources', async () => {
    const { capabilities } = (await ask('server/discover')).result
    expect(capabilities.extensions).toMatchObject({ 'io.modelcontextprotocol/skills': {} })
    const { skills } = (await ask('skills/list')).result
    const names = skills.map(({ frontmatter }: { frontmatter: { name: string } }) => frontmatter.name)
    expect(names).toEqual(
      expect.arrayContaining([
        ...['deploy', 'diagnose-and-repair', 'connect-database', 'write-policy', 'remediation'],
      ]),
    )
    for (const skill of skills) {
      expect((await ask('skills/get', { uri: skill.uri })).result.skill).toEqual(skill)
      const { text } = (await ask('resources/read', { uri: skill.uri })).result.contents[0]
      expect(skill.resources).toEqual([
        { uri: skill.uri, digest: sha256(text), size: Buffer.byteLength(text) },
      ])
      for (const [key, value] of Object.entries(skill.frontmatter))
        expect(text.split('---\n')[1]).toContain(`${key}: ${JSON.stringify(value)}\n`)
      expect(skill.uri).toBe(`skill://longshore/${skill.frontmatter.name}/SKILL.md`)
    }
    expect((await ask('skills/get', { uri: 'skill://longshore/none/SKILL.md' })).error.code).toBe(-32602)
    expect((await ask('skills/list', { cursor: 'x' })).error.code).toBe(-32602)
  })
})

describe('completions', () => {
  it('propose the environments that the caller sees, in both revisions', async () => {
    fixture.backend.state.add({ name: 'staging' })
    const ref = { type: 'ref/prompt', name: 'why-is-it-down' }
    const complete = async (params: Record<string, unknown>) =>
      (await ask('completion/complete', params)).result?.completion
    expect(await complete({ ref, argument: { name: 'envName', value: 'STAG' } })).toEqual({
      ...{ values: ['shop-staging'], total: 1, hasMore: false },
    })
    const template = { type: 'ref/resource', uri: 'longshore://environments/{envName}/logs/{type}' }
    expect(await complete({ ref: template, argument: { name: 'type', value: 'b' } })).toMatchObject({
      values: ['BUILD', 'JOB'],
    })
    const unknown = await ask('completion/complete', { ref, argument: { name: 'nope', value: '' } })
    expect(unknown.error.code).toBe(-32602)
    const session = await openToolSession(fixture.backend.url)
    const { completion } = await session.client.complete({
      ref: { type: 'ref/prompt', name: 'why-is-it-down' },
      argument: { name: 'envName', value: '' },
    })
    expect(completion.values).toEqual(['shop-prod', 'shop-staging'])
    await session.close()
  })
})

describe('what hosts read before they connect', () => {
  let platform: TestPlatform
  beforeAll(async () => {
    platform = await TestPlatform.start({
      reconciles: false,
      oauth: { publicUrl: 'https://longshore.example' },
    })
  })
  afterAll(() => platform.close())
  const read = async (path: string) => {
    const response = await fetch(`${platform.apiUrl}${path}`)
    expect(response.status).toBe(200)
    return { type: response.headers.get('content-type'), text: await response.text() }
  }

  it('is a card of the server, and an index of its skills', async () => {
    for (const path of ['/.well-known/mcp/server-card.json', '/mcp/server-card']) {
      const card = JSON.parse((await read(path)).text)
      expect(card.remotes[0]).toMatchObject({ type: 'streamable-http', url: 'https://longshore.example/mcp' })
      expect(card.remotes[0].supportedProtocolVersions).toEqual(
        expect.arrayContaining(['2026-07-28', '2025-11-25']),
      )
    }
    const { skills } = JSON.parse((await read('/.well-known/agent-skills/index.json')).text)
    expect(skills.length).toBeGreaterThanOrEqual(5)
    for (const { name, url, digest } of skills) {
      const { type, text } = await read(url)
      expect([type, sha256(text)]).toEqual(['text/markdown; charset=utf-8', digest])
      expect(text).toContain(`name: "${name}"`)
    }
  })
})
