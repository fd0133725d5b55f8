import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'

function sources(dir: string): Map<string, string> {
  const names = readdirSync(dir).filter((name) => name.endsWith('.ts'))
  return new Map(names.map((name) => [`${dir}/${name}`, readFileSync(path.join(dir, name), 'utf8')]))
}

/** The files that hold a pattern. */
function holding(files: Map<string, string>, pattern: RegExp): string[] {
  return [...files].filter(([, text]) => pattern.test(text)).map(([name]) => name)
}

const mcp = sources('src/mcp')
const tools = sources('tools')
const all = new Map([...mcp, ...tools])

/** test/mcp/gullible-agent.test.ts shows that the gate holds; here, that nothing goes round it. */
describe('hostile text has one gate', () => {
  it('only tool-result.ts makes a result, and only server.ts hands one to the library', () => {
    expect(holding(all, /isError: (?:true|false), text/)).toEqual(['src/mcp/tool-result.ts'])
    expect(holding(all, /structuredContent|type: 'text'/)).toEqual(['src/mcp/server.ts'])
    expect(holding(all, /new McpError\(/)).toEqual(['src/mcp/server.ts'])
    const server = mcp.get('src/mcp/server.ts') as string
    expect(server.match(/new McpError\(.*/g)).toEqual([expect.stringContaining('visibleInline(')])
  })

  it('only the gate knows what an envelope looks like, and what is added to a result stands in one', () => {
    expect(holding(all, /<untrusted \$\{/)).toEqual(['src/mcp/untrusted-text.ts'])
    const added = [...all].flatMap(([name, text]) =>
      (text.match(/\.\.\.result\.structured,.*/g) ?? []).map((line) => [name, line]),
    )
    expect(added.length).toBeGreaterThan(0)
    for (const [, line] of added) expect(line).toMatch(/^\.\.\.result\.structured, untrustedLog: log \}/)
  })

  it('tools say and frame, and never write a result or a mark themselves', () => {
    expect(holding(tools, /untrusted-text|tool-result|run-tool|randomBytes/)).toEqual([])
    // `body` replaces the JSON of the answer: its text must come through `frame`.
    for (const [name, text] of tools) {
      if (/\bbody:/.test(text)) expect(text, name).toMatch(/body: \([^)]*\bframe\)/)
    }
  })

  it('questions to a person and progress are made of gated text', () => {
    expect(holding(all, /\baskPerson\(/)).toEqual(['src/mcp/confirmation.ts'])
    const confirmation = mcp.get('src/mcp/confirmation.ts') as string
    for (const part of ['loss.what', 'loss.name', 'effect,'])
      expect(confirmation).toContain(`visibleInline(${part}`)
    expect(holding(all, /\bctx\.progress\(/).sort()).toEqual([
      'src/mcp/wait-for-deployment.ts',
      'src/mcp/wait-for-job-run.ts',
    ])
  })
})
