import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Cli, CliCommand } from '../../../src/cli/command.ts'
import { fieldsOf } from '../../../src/cli/rows/fields.ts'
import { commandOf } from '../../../src/cli/rows/tree.ts'
import { inShellWords, wordsOf } from '../../../src/cli/rows/words.ts'
import { operations } from '../../../src/contract/index.ts'
import { isRead } from '../../../src/contract/operation.ts'
import { createProgram } from '../../../src/server/commands/program.ts'
import { runCli } from '../../../src/server/commands/run-cli.ts'
import { tools } from '../../../tools/index.ts'

const silent = { stdout: { write: () => true }, stderr: { write: () => true }, onInterrupt: () => () => {} }
const nowhere: Cli = { env: {}, io: silent, json: false, words: [], program: null, path: '' }

describe('commands derived from the contract rows', () => {
  it('every operation, and so every agent tool, has a unique command', () => {
    const program = createProgram(nowhere, () => {})
    for (const row of operations) expect(commandOf(program, row), row.id).not.toBeNull()
    const words = operations.map(({ id }) => wordsOf(id).join(' '))
    expect(new Set(words).size).toBe(operations.length)
    const ids = new Set(operations.map(({ id }) => id))
    expect(tools.filter(({ name }) => !ids.has(name)).map(({ name }) => name)).toEqual([])
  })

  it('the command of a new operation is derived from its id', () => {
    expect(wordsOf('list-invitations')).toEqual(['invitations', 'list'])
    expect(wordsOf('accept-invitation')).toEqual(['invitations', 'accept'])
    expect(wordsOf('get-app-env-status')).toEqual(['envs', 'status'])
    expect(wordsOf('paint-app-env-wall')).toEqual(['envs', 'paint-wall'])
  })

  it('a text that names operations names commands in the shell', () => {
    const text = 'get-logs with jobRunId shows all output; get-logs with type BUILD the build.'
    expect(inShellWords(text, 'shop-prod')).toBe(
      'longshore jobs logs <jobRunId> shows all output; longshore logs shop-prod --type BUILD the build.',
    )
  })

  it('every command has help with exit code 0 and one example, and understands it', async () => {
    const leaves: string[] = []
    const walk = (command: CliCommand, words: string) => {
      if (command.commands.length === 0 || words === 'mcp') leaves.push(words)
      for (const one of command.commands) walk(one as CliCommand, `${words} ${one.name()}`.trim())
    }
    walk(
      createProgram(nowhere, () => {}),
      '',
    )
    const said = { text: '' }
    const stream = { write: (text: string) => (said.text += text) }
    const io = { stdout: stream, stderr: stream, onInterrupt: () => () => {} }
    // The port of no service: a call that is understood ends with an error of the connection.
    const env = { LONGSHORE_URL: 'http://127.0.0.1:1', LONGSHORE_TOKEN: 'lsu_none' }
    const changesThisMachine = /^(?:serve|mcp|mcp install|stop|demo|secrets rotate|store copy|audit verify)$/
    for (const words of leaves) {
      said.text = ''
      expect(await runCli([...words.split(' '), '--help'], env, io), words).toBe(0)
      expect(said.text.toLowerCase()).toContain(`usage: longshore ${words.split(' ')[0]}`)
      const examples = [...said.text.matchAll(/^Example: longshore (.*)$/gm)].map(([, example]) => example!)
      expect(examples, words).toHaveLength(1)
      expect(`${examples[0]} `).toMatch(new RegExp(`^${words} `))
      // Types are in small letters, and an argument is a name that can be pasted.
      expect(examples[0], words).not.toMatch(/--type [A-Z]|\bENVIRONMENT\b/)
      if (changesThisMachine.test(words) || /(?:config|chat|credential)\.json|\.pem/.test(examples[0]!))
        continue
      said.text = ''
      const code = await runCli(examples[0]!.replaceAll("'", '').split(' '), env, io)
      expect(code, `${examples[0]}: ${said.text}`).not.toBe(2)
    }
  })

  it('help fits the terminal, and shows only options that the command takes', async () => {
    const help = async (...argv: string[]) => {
      let out = ''
      const stdout = { write: (text: string) => (out += text) }
      await runCli([...argv, '--help'], {}, { ...silent, stdout } as never)
      return out
    }
    for (const words of [['serve'], ['mcp'], ['deploy'], ['probe'], ['store', 'copy'], ['jobs']]) {
      const wide = (await help(...words)).split('\n').filter((line) => line.length > 80)
      expect(
        wide.filter((line) => !line.startsWith('Example: ')),
        words.join(' '),
      ).toEqual([])
    }
    const install = await help('mcp', 'install')
    expect(install).not.toMatch(/Global|--json/)
    expect(install.match(/--read-only \[on\]/g)).toHaveLength(1)
    expect(await help('envs', 'list')).toContain('--json')
    expect(await help('envs', 'compare-versions')).toContain('number of the other version')
  })

  it('every option and every id of a derived command has a text in its help', () => {
    const program = createProgram(nowhere, () => {})
    const silentOnes: string[] = []
    for (const row of operations) {
      const command = commandOf(program, row)!
      const words = wordsOf(row.id).join(' ')
      for (const one of [
        ...command.options.filter(({ hidden }) => !hidden),
        ...command.registeredArguments,
      ]) {
        const about = one.description.replace(/^ *(?:one of|default|repeatable|\(or)\b.*$/, '')
        if (about === '') silentOnes.push(`${words} ${one.name()}`)
      }
    }
    expect(silentOnes).toEqual([])
    for (const noun of program.commands) {
      expect(noun.description(), noun.name()).toMatch(/ /)
    }
  })

  it('every command that makes one change takes --dry-run, but those that README names', () => {
    const program = createProgram(nowhere, () => {})
    const without = operations
      .filter((row) => !isRead(row))
      .filter((row) => !commandOf(program, row)!.options.some(({ long }) => long === '--dry-run'))
      .map(({ id }) => wordsOf(id).join(' '))
    expect(without.sort()).toEqual(['probe', 'token rotate'])
    const deploy = program.commands.find((one) => one.name() === 'deploy')!
    expect(deploy.options.map(({ long }) => long)).toContain('--dry-run')
    const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')
    for (const words of ['create', ...without])
      expect(readme).toMatch(new RegExp(`\\\`${words}\\\`[^.]*have no\\s+\\\`--dry-run\\\``))
  })

  it('no text of an input cites an internal document', () => {
    for (const { input, id } of operations) {
      const errors = input.safeParse({ idleTimeoutSeconds: 1, ttlSecondsAfterFinished: 1 }).error?.message
      expect(`${id} ${errors}`).not.toMatch(/\bsection \d|\.md\b/)
    }
  })

  it('every field of every input can be given', () => {
    for (const row of operations) {
      const { properties = {} } = z.toJSONSchema(row.input, { io: 'input', unrepresentable: 'any' })
      const { positionals, account, options } = fieldsOf(row)
      const givable = new Set([
        ...positionals.flatMap((name) => (name === 'environment' ? ['appEnvId', 'envName'] : [name])),
        ...options.map(({ field }) => field),
        ...(account === null ? [] : ['accountId']),
      ])
      expect(
        Object.keys(properties).filter((field) => !givable.has(field)),
        row.id,
      ).toEqual([])
      // Commander derives the field name from the flag.
      for (const { field, flags } of options) expect(flags[0]!.attributeName()).toBe(field)
    }
  })
})
