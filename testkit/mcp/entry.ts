/**
 * The command as far as MCP goes, over a fake platform: what tests and benches of the stdio server bundle and
 * start. `serve` does what `longshore mcp` relies on: the lock, serve.json and admin-token.
 */
export {}

const [command, ...rest] = process.argv.slice(2)
if (command === 'serve') {
  const { serveFake } = await import('../platform/serve-fake.ts')
  await serveFake(process.env)
} else {
  const { runMcp } = await import('../../src/cli/mcp/command.ts')
  process.exit(await runMcp(rest, process.env))
}
