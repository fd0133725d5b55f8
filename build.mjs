// Bundles the command into dist/: one entry, code that is rarely needed in chunks loaded on first use.
// node build.mjs [outdir] [entry]: another folder and entry, for tests and benches of the same bundling.
import { randomBytes } from 'node:crypto'
import { chmod, copyFile, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const [target = 'dist', entry = 'src/bin/longshore.ts'] = process.argv.slice(2)
// Built beside and moved into place whole, so that a command started meanwhile finds the old build or the new one.
const outdir = `${target}.${process.pid}`

const shared = {
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  logLevel: 'warning',
  // A gateway of another build makes way when a new control plane starts.
  define: { __LONGSHORE_BUILD__: JSON.stringify(randomBytes(8).toString('hex')) },
  banner: {
    js: '#!/usr/bin/env node\nimport { createRequire as $createRequire } from "node:module";const require=$createRequire(import.meta.url);',
  },
}

// The MCP library's server loads a JSON-Schema validator for answers to questions, 10 ms and 3 MiB at every
// start; ours gives it another (src/mcp/server.ts). Its client, which the demo uses, keeps the real one.
const serverWithoutValidator = {
  name: 'server-without-validator',
  setup(bundler) {
    bundler.onResolve({ filter: /ajv-provider\.js$/ }, ({ importer }) =>
      /[\\/]sdk[\\/]dist[\\/]esm[\\/]server[\\/]/.test(importer)
        ? { path: 'no-validator', namespace: 'longshore' }
        : undefined,
    )
    bundler.onLoad({ filter: /^no-validator$/, namespace: 'longshore' }, () => ({
      contents: 'export class AjvJsonSchemaValidator { constructor() { throw new Error("not bundled") } }',
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
        'import { tools } from "./tools/index.ts"; import { prebuild } from "./src/mcp/prebuild.ts"; export const prebuilt = await prebuild(tools)',
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

await rm(outdir, { recursive: true, force: true })
await build({
  ...shared,
  entryPoints: { longshore: entry },
  outdir,
  splitting: true,
  sourcemap: 'linked',
  plugins: [serverWithoutValidator, englishOnly],
  // Native or worker-based packages, and the server side that is loaded once, stay in node_modules.
  external: [
    'libsql',
    'dockerode',
    'fastify',
    'pino',
    'kysely',
    'yauzl',
    'tar-stream',
    'dockerfile-ast',
    'nodemailer',
  ],
})
await writePrebuilt()
await copyReference()
// npx runs the file itself, and npm makes it executable only when it installs.
await chmod(path.join(outdir, 'longshore.js'), 0o755)
await rm(`${outdir}.old`, { recursive: true, force: true })
await rename(target, `${outdir}.old`).catch(() => {})
await rename(outdir, target)
await rm(`${outdir}.old`, { recursive: true, force: true })
