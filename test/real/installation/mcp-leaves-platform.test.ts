import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { lockHolder } from '../../../src/lock-holder.ts'

const entry = path.resolve('dist/longshore.js')
const home = mkdtempSync(path.join(os.tmpdir(), 'longshore-test-'))
const own = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('LONGSHORE_')))
const env = {
  ...own,
  LONGSHORE_HOME: home,
  LONGSHORE_PORT: '0',
  LONGSHORE_GATEWAY_PORT: '0',
  LONGSHORE_ENGINE: 'process',
}
const hosts: ChildProcess[] = []

beforeAll(() => {
  if (!existsSync(entry)) execFileSync(process.execPath, ['build.mjs'])
})
afterAll(() => {
  for (const host of hosts) host.kill('SIGKILL')
  execFileSync(process.execPath, [entry, 'stop'], { env, stdio: 'ignore' })
  rmSync(home, { recursive: true, force: true })
})

/** A host that starts `longshore mcp` and asks for the accounts: the answer of the platform. */
async function accountsByMcp(): Promise<string> {
  const host = spawn(process.execPath, [entry, 'mcp'], { env, stdio: ['pipe', 'pipe', 'ignore'] })
  hosts.push(host)
  const clientInfo = { name: 'host', version: '1' }
  const messages = [
    { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/call', params: { name: 'list-accounts', arguments: {} } },
  ]
  for (const message of messages) host.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  for await (const line of createInterface({ input: host.stdout })) {
    const { id, result } = JSON.parse(line)
    if (id === 2) return JSON.stringify(result)
  }
  throw new Error('longshore mcp ended without an answer')
}

it('two hosts that start at once share one platform, and it outlives both', async () => {
  const answers = await Promise.all([accountsByMcp(), accountsByMcp()])
  for (const answer of answers) expect(answer).toContain('acc_')
  const { pid, api } = JSON.parse(readFileSync(path.join(home, 'run', 'serve.json'), 'utf8'))
  for (const host of hosts.splice(0)) {
    host.kill('SIGKILL')
    await once(host, 'close')
  }
  const token = readFileSync(path.join(home, 'admin-token'), 'utf8').trim()
  const answer = await fetch(`${api}/accounts`, { headers: { authorization: token } })
  expect(answer.status).toBe(200)
  expect(lockHolder(home)).toBe(pid)
  expect(await accountsByMcp()).toContain('acc_')
  const log = path.join(home, 'run', 'serve.log')
  expect(statSync(log).mode & 0o777).toBe(0o600)
  // One of the two may have lost the race for the lock; the log then says so. Only one became ready.
  expect(readFileSync(log, 'utf8').match(/Longshore is ready/g)).toHaveLength(1)
  expect(readFileSync(log, 'utf8')).not.toContain(token)
})
