// Makes what a release publishes, in dist.release/ or the folder given: the npm package and the .mcpb bundle for
// desktop hosts, and the entry of the MCP registry (server.json, of this version). Publishing is done by a person.
import { execFileSync } from 'node:child_process'
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { packExtension } from '@anthropic-ai/mcpb'

const [outdir = 'dist.release'] = process.argv.slice(2)
const { name, version, description, license, engines } = JSON.parse(await readFile('package.json', 'utf8'))

/** The bundle connects to a platform elsewhere: it needs no native code, so one file fits every system. */
function manifest(tools) {
  return {
    manifest_version: '0.3',
    name,
    display_name: 'Longshore',
    version,
    description,
    author: { name: 'Longshore maintainers' },
    license,
    server: {
      type: 'node',
      entry_point: 'server/dist/longshore.js',
      mcp_config: {
        command: 'node',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the host fills these in
        args: ['${__dirname}/server/dist/longshore.js', 'mcp'],
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the host fills these in
        env: { LONGSHORE_URL: '${user_config.url}', LONGSHORE_TOKEN: '${user_config.token}' },
      },
    },
    tools: tools.map(({ listed }) => ({ name: listed.name, description: listed.description })),
    compatibility: { platforms: ['darwin', 'win32', 'linux'], runtimes: { node: engines.node } },
    user_config: {
      url: {
        type: 'string',
        title: 'Address of the platform',
        description: 'Where Longshore runs, such as http://127.0.0.1:4400',
        default: 'http://127.0.0.1:4400',
        required: true,
      },
      token: {
        type: 'string',
        title: 'Token',
        description: 'A user token, from the Tokens page of the console or `longshore token create`',
        sensitive: true,
        required: true,
      },
    },
  }
}

async function makeBundle() {
  const folder = path.join(outdir, 'bundle')
  const { tools } = JSON.parse(await readFile('dist/mcp-prebuilt.json', 'utf8'))
  await mkdir(path.join(folder, 'server/dist'), { recursive: true })
  await writeFile(path.join(folder, 'manifest.json'), JSON.stringify(manifest(tools), null, 2))
  await writeFile(path.join(folder, 'server/package.json'), JSON.stringify({ name, version, type: 'module' }))
  await cp('LICENSE', path.join(folder, 'LICENSE'))
  for (const file of await readdir('dist', { withFileTypes: true })) {
    // Folders are pages and references that only `serve` needs.
    if (file.isFile() && !file.name.endsWith('.map')) {
      await cp(path.join('dist', file.name), path.join(folder, 'server/dist', file.name))
    }
  }
  const outputPath = path.join(outdir, `${name}-${version}.mcpb`)
  if (!(await packExtension({ extensionPath: folder, outputPath, silent: true }))) {
    throw new Error('the bundle does not fit the schema of its manifest')
  }
  await rm(folder, { recursive: true })
  return outputPath
}

async function writeRegistryEntry() {
  const outputPath = path.join(outdir, 'server.json')
  const entry = JSON.parse(await readFile('server.json', 'utf8'))
  entry.version = version
  for (const one of entry.packages) one.version = version
  await writeFile(outputPath, `${JSON.stringify(entry, null, 2)}\n`)
  return outputPath
}

await rm(outdir, { recursive: true, force: true })
await mkdir(outdir, { recursive: true })
const packed = execFileSync('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', outdir])
console.log(path.join(outdir, JSON.parse(packed)[0].filename))
console.log(await makeBundle())
console.log(await writeRegistryEntry())
