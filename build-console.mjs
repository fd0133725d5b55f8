// Bundles the web console into <outdir>/console: a shell, and assets named by their content, precompressed.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { build } from 'esbuild'

const source = path.resolve('src/console')
const main = path.join(source, 'main.tsx')
const target = ['chrome111', 'firefox113', 'safari16.4']

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

/**
 * Every page imports the main script, which is there before it: so esbuild puts the code of the main script into one
 * file, instead of one for each set of pages that share some of it.
 */
const mainScript = {
  name: 'main-script',
  setup(bundler) {
    bundler.onLoad({ filter: /[\\/]console[\\/]pages[\\/].*\.tsx$/ }, async ({ path: file }) => ({
      contents: `${await readFile(file, 'utf8')}\nimport ${JSON.stringify(main)}`,
      loader: 'tsx',
    }))
  },
}

/** Writes the console below `outdir`; `development` keeps names readable and compresses nothing. Returns esbuild's metafile. */
export async function buildConsole(outdir, { development = false } = {}) {
  const dir = path.join(outdir, 'console')
  const scratch = path.join(outdir, 'console-contract')
  const result = await build({
    absWorkingDir: process.cwd(),
    entryPoints: [main],
    outdir: path.join(dir, 'assets'),
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    target,
    jsx: 'automatic',
    minify: !development,
    metafile: true,
    write: false,
    logLevel: 'warning',
    define: { 'process.env.NODE_ENV': JSON.stringify(development ? 'development' : 'production') },
    plugins: [contractRows(scratch), browserClient, sampleFunction, mainScript],
  })
  const [entry, { cssBundle, imports }] = Object.entries(result.metafile.outputs).find(([, { entryPoint }]) =>
    entryPoint?.endsWith('main.tsx'),
  )
  const boot = await bootScript(path.join(dir, 'assets'), address(entry))
  await mkdir(path.join(dir, 'assets'), { recursive: true })
  const assets = {}
  for (const file of [...result.outputFiles, boot])
    assets[path.basename(file.path)] = await writeAsset(file, development ? [] : ['br', 'gzip'])
  await writeFile(path.join(dir, 'assets.json'), JSON.stringify(assets))
  const first = imports.filter(({ kind }) => kind === 'import-statement').map(({ path: file }) => file)
  await writeFile(path.join(dir, 'index.html'), await shell(cssBundle, boot.path, [...first, entry]))
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

const address = (file) => `/console/assets/${path.basename(file)}`

/** The script that loads the main one from `mainAddress`. */
async function bootScript(outdir, mainAddress) {
  const { outputFiles } = await build({
    absWorkingDir: process.cwd(),
    entryPoints: [path.join(source, 'boot.ts')],
    outdir,
    entryNames: '[name]-[hash]',
    bundle: true,
    format: 'esm',
    target,
    minify: true,
    write: false,
    plugins: [
      {
        name: 'main-address',
        setup: (bundler) =>
          bundler.onResolve({ filter: /main\.tsx$/ }, () => ({ path: mainAddress, external: true })),
      },
    ],
  })
  return outputFiles[0]
}

/** The page names its style and all scripts of the first page, so that they are fetched together. */
async function shell(style, boot, scripts) {
  const template = await readFile(path.join(source, 'index.html'), 'utf8')
  return template.replace(
    '<!-- assets -->',
    [
      `<link rel="stylesheet" href="${address(style)}">`,
      `<script type="module" src="${address(boot)}"></script>`,
      ...scripts.map((file) => `<link rel="modulepreload" href="${address(file)}">`),
    ].join('\n'),
  )
}
