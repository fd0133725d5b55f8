// Bundles the command into dist/: code that is rarely needed in chunks loaded on first use. All libraries but the
// native one are bundled, so an installation has a handful of packages.
// node build.mjs [outdir] [entry]: another folder and entry, for tests and benches of the same bundling.
import { randomBytes } from 'node:crypto'
import { chmod, copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { buildConsole } from './build-console.mjs'
import { writeIndexes } from './scripts/indexes.mjs'

const [target = 'dist', entry = 'src/server/longshore.ts'] = process.argv.slice(2)
// Built beside and moved into place whole, so that a command started meanwhile finds the old build or the new one.
const outdir = `${target}.${process.pid}`

const shared = {
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  logLevel: 'warning',
  // A third of the bytes that Node parses at each start; names stay, so that stacks can be read.
  minifyWhitespace: true,
  minifySyntax: true,
  // Its default build loads files by computed names, which cannot be bundled.
  alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
  // A gateway of another build makes way when a new control plane starts.
  define: { __LONGSHORE_BUILD__: JSON.stringify(randomBytes(8).toString('hex')) },
  banner: {
    js: 'import { createRequire as $createRequire } from "node:module";const require=$createRequire(import.meta.url);',
  },
}

// The servers of both MCP libraries load a JSON-Schema validator for answers to questions, 10 ms and 3 MiB at every
// start; ours give them another (src/mcp/transport/responses.ts). The client, which the demo uses, keeps the real one.
const serverWithoutValidator = {
  name: 'server-without-validator',
  setup(bundler) {
    bundler.onResolve({ filter: /ajv-provider\.js$/ }, ({ importer }) =>
      /[\\/]sdk[\\/]dist[\\/]esm[\\/]server[\\/]/.test(importer)
        ? { path: 'no-validator', namespace: 'longshore' }
        : undefined,
    )
    bundler.onLoad({ filter: /^no-validator$/, namespace: 'longshore' }, () => ({
      contents:
        'export class AjvJsonSchemaValidator { constructor() { throw new Error("not bundled") } }; export { AjvJsonSchemaValidator as DefaultJsonSchemaValidator }; export { default as process } from "node:process"',
    }))
    bundler.onResolve({ filter: /^@modelcontextprotocol\/server\/_shims$/ }, () => ({
      path: 'no-validator',
      namespace: 'longshore',
    }))
  },
}

// Docker over SSH and BuildKit sessions are not used (Docker answers on a socket or over TCP); their libraries
// bring native code and 40 packages.
const dockerOverHttpOnly = {
  name: 'docker-over-http-only',
  setup(bundler) {
    bundler.onResolve(
      { filter: /^(?:ssh2|protobufjs|@grpc\/(?:grpc-js|proto-loader))$/ },
      ({ path: name }) => ({
        path: name,
        namespace: 'left-out',
      }),
    )
    bundler.onLoad({ filter: /.*/, namespace: 'left-out' }, ({ path: name }) => ({
      contents: `exports.Client = class { constructor() { throw new Error('${name} is left out of this build') } }`,
    }))
  },
}

// Sixty languages of error texts, none of which is used but English.
const englishOnly = {
  name: 'english-only',
  setup(bundler) {
    bundler.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js"',
    }))
  },
}

/** Writes what `longshore mcp` answers `initialize` and tools/list with: every schema converted, once. */
async function writePrebuilt() {
  const maker = path.join(outdir, 'prebuild.mjs')
  await build({
    ...shared,
    stdin: {
      contents:
        'import { tools } from "./tools/index.ts"; import { prebuild } from "./src/mcp/tools/prebuild.ts"; export const prebuilt = await prebuild(tools)',
      resolveDir: process.cwd(),
      loader: 'ts',
    },
    outfile: maker,
    plugins: [serverWithoutValidator, englishOnly],
  })
  const { prebuilt } = await import(pathToFileURL(path.resolve(maker)).href)
  await writeFile(path.join(outdir, 'mcp-prebuilt.json'), JSON.stringify(prebuilt))
  await rm(maker)
}

/** What people read the interface with in a browser (src/api/reference-routes.ts): files served as they are. */
async function copyReference() {
  const to = path.join(outdir, 'reference')
  await mkdir(to)
  for (const file of ['swagger-ui.css', 'swagger-ui-bundle.js', 'LICENSE']) {
    await copyFile(path.join('node_modules/swagger-ui-dist', file), path.join(to, file))
  }
}

/** The licenses of everything bundled, as they ask for; a package that states none stops the build. */
async function writeLicenses(inputs) {
  const roots = new Set(
    Object.keys(inputs).flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0] ?? []),
  )
  const texts = []
  for (const root of [...roots].sort()) {
    const { name, version, license } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'))
    if (!license) throw new Error(`${root} states no license`)
    const files = (await readdir(root)).filter((file) => /^(?:licen[cs]e|notice|copying)/i.test(file)).sort()
    const full = await Promise.all(files.map((file) => readFile(path.join(root, file), 'utf8')))
    texts.push([`${name} ${version} (${license})`, ...full.map((text) => text.trim())].join('\n\n'))
  }
  await writeFile(
    path.join(outdir, 'THIRD-PARTY-LICENSES.txt'),
    `${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`,
  )
}

await writeIndexes(process.cwd())
await rm(outdir, { recursive: true, force: true })
const { metafile } = await build({
  ...shared,
  entryPoints: { main: entry },
  outdir,
  splitting: true,
  sourcemap: 'linked',
  metafile: true,
  plugins: [serverWithoutValidator, dockerOverHttpOnly, englishOnly],
  // Native code stays in node_modules.
  external: ['libsql'],
})
await writePrebuilt()
await copyReference()
await buildConsole(outdir)
await rm(path.join(outdir, 'console-contract'), { recursive: true, force: true })
await writeLicenses(metafile.inputs)
// Checks the version of Node before it loads the rest. npx runs the file itself, and npm makes it executable only
// when it installs.
const command = path.join(outdir, 'longshore.js')
await copyFile('src/server/entry.js', command)
await chmod(command, 0o755)
await rm(`${outdir}.old`, { recursive: true, force: true })
await rename(target, `${outdir}.old`).catch(() => {})
await rename(outdir, target)
await rm(`${outdir}.old`, { recursive: true, force: true })
