import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { getMcpConfigForManifest, unpackExtension } from '@anthropic-ai/mcpb'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Installation } from '../../../testkit/platform/installation.ts'

/** What a release publishes, used as people use it: in a folder without this repository. */
describe('a release', () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'longshore-release-'))
  const platform = new Installation({ LONGSHORE_ENGINE: 'process' })
  const made = (suffix: string) =>
    path.join(folder, readdirSync(folder).find((file) => file.endsWith(suffix)) ?? `no ${suffix}`)

  beforeAll(async () => {
    execFileSync('node', ['scripts/release.mjs', folder])
    await platform.start()
  })
  afterAll(async () => {
    await platform.dispose()
    rmSync(folder, { recursive: true, force: true })
  })

  async function accountsThrough(command: string, args: string[], env: Record<string, string>, cwd: string) {
    const client = new Client({ name: 'host', version: '1' })
    const transport = new StdioClientTransport({
      command,
      args,
      cwd,
      env: { ...getDefaultEnvironment(), ...env },
    })
    await client.connect(transport)
    const result = await client.callTool({ name: 'list-accounts', arguments: {} })
    await client.close()
    return result.structuredContent as { accounts: { accountId: string }[] }
  }

  it('installs from the npm package into an empty folder and serves MCP through npx', async () => {
    const project = path.join(folder, 'project')
    mkdirSync(project)
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', made('.tgz')], {
      cwd: project,
    })
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    const shown = execFileSync('npx', ['longshore', '--version'], { cwd: project, encoding: 'utf8' })
    expect(shown.trim()).toBe(version)
    expect(JSON.parse(readFileSync(made('server.json'), 'utf8'))).toMatchObject({ version })
    const env = { LONGSHORE_URL: platform.ready.api, LONGSHORE_TOKEN: platform.token }
    const { accounts } = await accountsThrough('npx', ['longshore', 'mcp'], env, project)
    expect(accounts.map(({ accountId }) => accountId)).toEqual([platform.ready.accountId])
  })

  it('connects from the bundle with the address and the token that a person enters in the host', async () => {
    const extensionPath = path.join(folder, 'bundle-unpacked')
    expect(await unpackExtension({ mcpbPath: made('.mcpb'), outputDir: extensionPath, silent: true })).toBe(
      true,
    )
    const manifest = JSON.parse(readFileSync(path.join(extensionPath, 'manifest.json'), 'utf8'))
    const config = await getMcpConfigForManifest({
      manifest,
      extensionPath,
      systemDirs: {} as never,
      userConfig: { url: platform.ready.api, token: platform.token },
      pathSeparator: path.sep,
    })
    const { command, args = [], env = {} } = config!
    const { accounts } = await accountsThrough(command, args, env, extensionPath)
    expect(accounts.map(({ accountId }) => accountId)).toEqual([platform.ready.accountId])
    expect(manifest.tools.length).toBeGreaterThan(60)
  })
})
