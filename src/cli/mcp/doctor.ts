import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { parse } from 'jsonc-parser'
import { z } from 'zod'
import { mcpHosts } from '../../client/mcp-hosts.ts'
import { type Cli, type CliCommand, choice, type Done } from '../command.ts'
import { exitCodes } from '../command-io.ts'
import { userFolders } from '../user-folders.ts'
import type { ServerEntry } from './connect.ts'

/** `longshore mcp doctor`: finds why an MCP host cannot connect, by connecting as the host does. */
export function addMcpDoctorCommand(mcp: CliCommand, cli: Cli, done: Done): void {
  mcp
    .command('doctor')
    .withoutJson()
    .summary('find why an MCP host cannot connect')
    .description(
      'Reads the entry of this server in the configuration of each MCP host, starts the server or calls its address as the host does, lists the tools and makes one read. Prints what works, what does not, and how to repair it. Without any entry it checks the server of this shell.',
    )
    .addOption(choice('--host <host>', 'only this MCP host', Object.keys(mcpHosts)))
    .runs(cli, done, async (_args, { host }) => {
      const ids = host === undefined ? Object.keys(mcpHosts) : [String(host)]
      const outcomes = []
      for (const id of ids) outcomes.push(await checkHost(id, host !== undefined, cli))
      const checked = outcomes.filter((outcome) => outcome !== null)
      if (checked.length === 0) {
        cli.io.stdout.write('No MCP host has an entry for this server. The server of this shell:\n')
        checked.push(await checkShell(cli))
      }
      return checked.includes(false) ? exitCodes.failed : exitCodes.done
    })
}

/** Whether the host's entry works; null when a host has none and is not chosen. */
async function checkHost(id: string, chosen: boolean, cli: Cli): Promise<boolean | null> {
  const { name, file, place } = mcpHosts[id]!
  const say = (line: string) => cli.io.stdout.write(`${line}\n`)
  if (!file) {
    if (!chosen) return null
    say(`${name} keeps its entries itself (${place}); this is the server of this shell:`)
    return checkShell(cli)
  }
  const target = file.path(userFolders(cli.env))
  const found = await readEntry(target, file.key)
  if (!found.exists && !chosen) return null
  say(`${name}: ${target}`)
  if (!('entry' in found)) {
    say(`  wrong: ${found.problem}. Run: longshore mcp install --host ${id}`)
    return false
  }
  say('  ok: the file has an entry for this server')
  const { connects } = await import('./connect.ts')
  return connects(found.entry, (line) => say(`  ${line}`))
}

type Found = { exists: true; entry: ServerEntry } | { exists: boolean; problem: string }

/** Our entry in the configuration of a host. */
async function readEntry(target: string, key: string): Promise<Found> {
  const text = await readFile(target, 'utf8').catch((error: NodeJS.ErrnoException) => error)
  if (typeof text !== 'string') {
    if (text.code === 'ENOENT') return { exists: false, problem: 'there is no such file' }
    return { exists: true, problem: `it cannot be read (${text.code})` }
  }
  const root: unknown = parse(text, [], { allowTrailingComma: true })
  const servers = z.looseObject({ [key]: z.looseObject({ longshore: z.unknown() }) }).safeParse(root)
  const entry = servers.data?.[key]?.longshore
  if (entry === undefined) return { exists: false, problem: `"${key}" has no entry "longshore"` }
  const { serverEntrySchema } = await import('./connect.ts')
  const { success, data } = serverEntrySchema.safeParse(entry)
  if (success) return { exists: true, entry: data }
  return { exists: true, problem: 'the entry "longshore" names neither a program nor an address' }
}

/** The server as this shell would start it. */
async function checkShell({ env, io }: Cli): Promise<boolean> {
  // Loaded by this command only: the library of MCP clients.
  const { connects } = await import('./connect.ts')
  const settings = Object.entries(env).filter(([name]) => name.startsWith('LONGSHORE_'))
  const entry = {
    command: process.execPath,
    args: [path.resolve(import.meta.dirname, '..', 'dist', 'longshore.js'), 'mcp'],
    env: Object.fromEntries(settings) as Record<string, string>,
  }
  return connects(entry, (line) => io.stdout.write(`  ${line}\n`))
}
