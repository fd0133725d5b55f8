// Bundles the web console into <outdir>/console: a shell, and assets named by their content, precompressed.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { build } from 'esbuild'

const source = path.resolve('src/console')

/**
 * The console imports contract rows like every other client, but needs only id, method and path of them at run time:
 * each contract module is reduced to these and its plain constants, so that no schema library reaches the browser.
 */
function contractRows(scratch) {
  return {
    name: 'contract-rows',
    setup(bundler) {
      bundler.onLoad({ filter: /[\\/]src[\\/]contract[\\/][\w-]+\.ts$/ }, async ({ path: file }) => {
        const text = await readFile(file, 'utf8')
        if (!/import \{ z \} from 'zod'/.test(text)) return undefined
        const outfile = path.join(scratch, `${path.basename(file, '.ts')}.mjs`)
        await build({
          entryPoints: [file],
          outfile,
          bundle: true,
          format: 'esm',
          platform: 'node',
          packages: 'external',
        })
        const module = await import(pathToFileURL(path.resolve(outfile)).href)
        const exports = Object.entries(module).flatMap(([name, value]) => {
          const kept = slim(value)
          return kept === undefined ? [] : [`export const ${name} = ${JSON.stringify(kept)}`]
        })
        return { contents: exports.join('\n'), loader: 'js' }
      })
    },
  }
}

function slim(value) {
  if (typeof value !== 'object' || value === null) return typeof value === 'function' ? undefined : value
  if ('policy' in value && 'path' in value) return { id: value.id, method: value.method, path: value.path }
  const isPlain = (one) => one === null || ['string', 'number', 'boolean'].includes(typeof one)
  return Object.values(value).every(isPlain) ? value : undefined
}

/** The typed client without what only Node has. */
const browserClient = {
  name: 'browser-client',
  setup(bundler) {
    bundler.onResolve({ filter: /^node:crypto$/ }, () => ({
      path: path.join(source, 'api/browser-crypto.ts'),
    }))
    bundler.onResolve({ filter: /undici-send\.ts$/ }, () => ({ path: 'undici', namespace: 'absent' }))
    bundler.onLoad({ filter: /.*/, namespace: 'absent' }, () => ({
      contents: 'export const sendWithUndici = undefined',
    }))
  },
}

/** `import files from 'sample-function'`: the example that the first run deploys, as text by file name. */
const sampleFunction = {
  name: 'sample-function',
  setup(bundler) {
    const dir = path.resolve('examples/hello-function')
    bundler.onResolve({ filter: /^sample-function$/ }, () => ({ path: dir, namespace: 'sample' }))
    bundler.onLoad({ filter: /.*/, namespace: 'sample' }, async () => {
      const files = await Promise.all(
        (await readdir(dir)).map(async (name) => [name, await readFile(path.join(dir, name), 'utf8')]),
      )
      return { contents: JSON.stringify(Object.fromEntries(files)), loader: 'json' }
    })
  },
}

/** Writes the console below `outdir`; `development` keeps names readable and compresses nothing. Returns esbuild's metafile. */
export async function buildConsole(outdir, { development = false } = {}) {
  const dir = path.join(outdir, 'console')
  const scratch = path.join(outdir, 'console-contract')
  const result = await build({
    absWorkingDir: process.cwd(),
    entryPoints: [path.join(source, 'main.tsx')],
    outdir: path.join(dir, 'assets'),
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    target: ['chrome111', 'firefox113', 'safari16.4'],
    jsx: 'automatic',
    minify: !development,
    metafile: true,
    write: false,
    logLevel: 'warning',
    define: { 'process.env.NODE_ENV': JSON.stringify(development ? 'development' : 'production') },
    plugins: [contractRows(scratch), browserClient, sampleFunction],
  })
  await mkdir(path.join(dir, 'assets'), { recursive: true })
  const assets = {}
  for (const file of result.outputFiles)
    assets[path.basename(file.path)] = await writeAsset(file, development ? [] : ['br', 'gzip'])
  await writeFile(path.join(dir, 'assets.json'), JSON.stringify(assets))
  await writeFile(path.join(dir, 'index.html'), await shell(result.metafile))
  return result.metafile
}

async function writeAsset({ path: file, contents }, encodings) {
  const type = file.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8'
  await writeFile(file, contents)
  if (encodings.length === 0) return { type, encodings }
  await writeFile(`${file}.gzip`, await promisify(gzip)(contents, { level: 9 }))
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: contents.length }
  await writeFile(`${file}.br`, await promisify(brotliCompress)(contents, { params }))
  return { type, encodings }
}

/** The page names the entry, its style and what the entry imports at once, so that all of it is fetched together. */
async function shell({ outputs }) {
  const address = (file) => `/console/assets/${path.basename(file)}`
  const [entry, { cssBundle, imports }] = Object.entries(outputs).find(([, { entryPoint }]) =>
    entryPoint?.endsWith('main.tsx'),
  )
  const links = imports
    .filter(({ kind }) => kind === 'import-statement')
    .map(({ path: file }) => `<link rel="modulepreload" href="${address(file)}">`)
  const template = await readFile(path.join(source, 'index.html'), 'utf8')
  return template.replace(
    '<!-- assets -->',
    [
      `<link rel="stylesheet" href="${address(cssBundle)}">`,
      ...links,
      `<script type="module" src="${address(entry)}"></script>`,
    ].join('\n'),
  )
}
