import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'

function sources(dir: string): Map<string, string> {
  const names = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  return new Map(names.map((name) => [`${dir}/${name}`, readFileSync(path.join(dir, name), 'utf8')]))
}

/** The files that hold a pattern. */
function holding(files: Map<string, string>, pattern: RegExp): string[] {
  return [...files].filter(([, text]) => pattern.test(text)).map(([name]) => name)
}

const mcp = sources('src/mcp')
const tools = sources('tools')
const all = new Map([...mcp, ...tools])

/** test/platform/mcp/gullible-agent.test.ts shows that the gate holds; here, that nothing goes round it. */
describe('hostile text has one gate', () => {
  it('only result.ts makes a result, and only the adapters hand one to a library', () => {
    expect(holding(all, /isError: (?:true|false), text/)).toEqual(['src/mcp/tools/result.ts'])
    // The page for hosts reads results.
    expect(holding(all, /structuredContent|type: 'text'/)).toEqual([
      'src/mcp/apps/environment-page.ts',
      'src/mcp/transport/responses.ts',
    ])
    for (const [thrown, name] of [
      [/new McpError\(.*/g, 'src/mcp/transport/server.ts'],
      [/new ProtocolError\(.*/g, 'src/mcp/transport/server-2026.ts'],
    ] as const) {
      expect(holding(all, new RegExp(thrown.source))).toEqual([name])
      for (const line of (mcp.get(name) as string).match(thrown)!)
        expect(line).toContain('protocolErrorText(')
    }
    expect(mcp.get('src/mcp/transport/responses.ts')).toMatch(/return sanitizeInline\(details === undefined/)
  })

  it('only adapters import a library of the protocol', () => {
    expect(holding(all, /from '@modelcontextprotocol\/sdk/)).toEqual(['src/mcp/transport/server.ts'])
    const adapters = ['http/era-2026.ts', 'server-2026.ts', 'stdio-2026.ts'].map(
      (name) => `src/mcp/transport/${name}`,
    )
    expect(holding(all, /from '@modelcontextprotocol\/server/).sort()).toEqual(adapters)
  })

  it('only the gate knows what an envelope looks like, and what is added to a result stands in one', () => {
    expect(holding(all, /<untrusted \$\{/)).toEqual(['src/mcp/policy/untrusted-text.ts'])
    const added = [...all].flatMap(([name, text]) =>
      (text.match(/\.\.\.result\.structured,.*/g) ?? []).map((line) => [name, line]),
    )
    expect(added.length).toBeGreaterThan(0)
    for (const [, line] of added) expect(line).toMatch(/^\.\.\.result\.structured, untrustedLog: log \}/)
  })

  it('tools say and frame, and never write a result or a mark themselves', () => {
    expect(holding(tools, /untrusted-text|tools\/result\.ts|run-tool|randomBytes/)).toEqual([])
    // `body` replaces the JSON of the answer: its text must come through `frame`.
    for (const [name, text] of tools) {
      if (/\bbody:/.test(text)) expect(text, name).toMatch(/body: \([^)]*\bframe\)/)
    }
  })

  it('questions to a person and progress are made of gated text', () => {
    expect(holding(all, /\baskPerson\(/)).toEqual(['src/mcp/policy/confirmation.ts'])
    const confirmation = mcp.get('src/mcp/policy/confirmation.ts') as string
    for (const part of ['loss.what', 'loss.name', 'effect,'])
      expect(confirmation).toContain(`sanitizeInline(${part}`)
    expect(holding(all, /\bctx\.progress\(/).sort()).toEqual([
      'src/mcp/tools/wait-for-deployment.ts',
      'src/mcp/tools/wait-for-job-run.ts',
    ])
  })
})
