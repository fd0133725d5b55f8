import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { z } from 'zod'

/** How a host reaches a server: a program that it starts, or an address. */
export const serverEntrySchema = z.union([
  z.object({
    command: z.string(),
    args: z.array(z.string()).default([]),
    env: z.record(z.string(), z.string()).default({}),
  }),
  z
    .object({
      url: z.string().optional(),
      serverUrl: z.string().optional(),
      headers: z.record(z.string(), z.string()).default({}),
    })
    .refine(({ url, serverUrl }) => URL.canParse(url ?? serverUrl ?? '')),
])
export type ServerEntry = z.infer<typeof serverEntrySchema>

/** Starting the platform may be part of the first call. */
const patienceMs = 90_000
const keptLogLength = 4_000

/** Connects as a host does, and makes one read. Says a line for each step; false after the first that fails. */
export async function connects(entry: ServerEntry, say: (line: string) => void): Promise<boolean> {
  const client = new Client({ name: 'longshore-doctor', version: '1.0.0' })
  const log = { text: '' }
  const step = async <Value>(work: Promise<Value>, passed: (value: Value) => string): Promise<Value> => {
    const value = await work
    say(`ok: ${passed(value)}`)
    return value
  }
  const startedMs = performance.now()
  try {
    await step(client.connect(transportOf(entry, log), { timeout: patienceMs }), () => {
      const took = Math.round(performance.now() - startedMs)
      return `the server answers initialize after ${took} ms`
    })
    await step(client.listTools(), ({ tools }) => `it lists ${tools.length} tools`)
    const call = client.callTool({ name: 'list-accounts', arguments: {} }, undefined, { timeout: patienceMs })
    const { isError, content } = await call
    if (isError) throw new Error(textOf(content))
    say('ok: a read reaches the platform with the token of this entry')
    return true
  } catch (error) {
    say(`wrong: ${remedy(error as NodeJS.ErrnoException, entry)}`)
    for (const line of log.text.trim().split('\n').slice(-12)) if (line !== '') say(`  ${line}`)
    return false
  } finally {
    await client.close()
  }
}

/** The library gives the program the small environment that hosts give: HOME, PATH and the like, and the entry's own. */
function transportOf(entry: ServerEntry, log: { text: string }) {
  if (!('command' in entry)) {
    const url = new URL(entry.url ?? entry.serverUrl ?? '')
    return new StreamableHTTPClientTransport(url, { requestInit: { headers: entry.headers } })
  }
  const transport = new StdioClientTransport({
    command: entry.command,
    args: entry.args,
    env: { ...getDefaultEnvironment(), ...entry.env },
    stderr: 'pipe',
  })
  transport.stderr?.on('data', (chunk) => {
    log.text = `${log.text}${chunk}`.slice(-keptLogLength)
  })
  return transport
}

function remedy(error: NodeJS.ErrnoException, entry: ServerEntry): string {
  if ('command' in entry) {
    if (error.code === 'ENOENT') {
      return `the program ${JSON.stringify(entry.command)} is not on the PATH. A host that is not started from a shell may have another PATH: enter the whole path, here ${process.execPath}`
    }
    return `${withoutPeriod(error.message)}. The host runs: ${[entry.command, ...entry.args].join(' ')}`
  }
  const { cause } = error as { cause?: { code?: string } }
  const address = entry.url ?? entry.serverUrl
  if (cause?.code === 'ECONNREFUSED')
    return `nothing answers at ${address}. Start the platform: longshore serve`
  if (/\b401\b|unauthorized/i.test(error.message)) {
    return `${address} refuses the token of this entry. Create one with: longshore token create`
  }
  return `${address}: ${error.message}`
}

/** Messages of libraries may end with one. */
function withoutPeriod(text: string): string {
  return text.trim().replace(/\.+$/, '')
}

function textOf(content: unknown): string {
  const parts = Array.isArray(content) ? (content as { text?: string }[]) : []
  return parts.map(({ text = '' }) => text).join(' ')
}
