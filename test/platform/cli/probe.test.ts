import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { runCli } from '../../../src/server/commands/run-cli.ts'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** The exit code of a probe with this result. */
async function exitCodeOf(counts: Record<string, number>, holds: boolean | null = null): Promise<number> {
  const none = { ok: 0, answered4xx: 0, answered5xx: 0, failed: 0, refused: 0 }
  const answer = { checks: [{ rule: 'F3', holds, because: '' }], levels: [{ ...none, ...counts }] }
  const server = createServer((_request, response) => response.end(JSON.stringify(answer)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => void server.close())
  const { port } = server.address() as AddressInfo
  const silent = { write: () => true, isTTY: false }
  return runCli(
    ['probe', 'fn-prod', '--json'],
    { LONGSHORE_URL: `http://127.0.0.1:${port}`, LONGSHORE_TOKEN: 'lsu_x' },
    { stdout: silent, stderr: silent, onInterrupt: () => () => {} },
  )
}

it('a probe fails when a rule is violated, or when most requests failed', async () => {
  expect(await exitCodeOf({ ok: 10, answered5xx: 2 })).toBe(0)
  expect(await exitCodeOf({ ok: 10, refused: 200 })).toBe(0)
  expect(await exitCodeOf({ ok: 10 }, false)).toBe(1)
  for (const kind of ['answered4xx', 'answered5xx', 'failed']) expect(await exitCodeOf({ [kind]: 1 })).toBe(1)
})
