// Writes the lists of all operations, handlers, tools and migrations from the files that define them, so that a new
// one is found by its file. `npm run build` runs this; test/unit/rules/indexes.test.ts checks that what is committed is current.
import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** The order of documents, commands and tool lists. Files that are not named here come last, by name. */
const order = [
  'accounts',
  'regions',
  'databases',
  'apps',
  'app-envs',
  'app-env-reads',
  'measurements',
  'deployments',
  'app-env-actions',
  'function-probe',
  'jobs',
  'backups',
  'members',
  'invitations',
  'users',
  'sign-in',
  'audit',
  'policy',
  'claims',
  'approvals',
  'contact-points',
  'chat',
  'alerts',
  'remediations',
  'incidents',
  'diagnosis',
  'instances',
  'domains',
]

/** The text of every index, by its path below `root`. */
export async function indexesOf(root) {
  const operations = await operationsOf(root)
  const ids = operations.map(({ id }) => id)
  return {
    'src/contract/index.ts': contractIndex(operations),
    'src/operations/index.ts': handlerIndex(await handlersOf(root)),
    'src/store/migrations/index.ts': migrationIndex(await migrationsOf(root)),
    'tools/index.ts': toolIndex(await toolsOf(root, ids)),
    'src/contract/group-of-tool.ts': groupIndex(await groupsOf(root, await toolsOf(root, ids))),
  }
}

/** Leaves files that are current untouched. */
export async function writeIndexes(root) {
  for (const [file, text] of Object.entries(await indexesOf(root))) {
    const target = path.join(root, file)
    if ((await readFile(target, 'utf8').catch(() => '')) !== text) await writeFile(target, text)
  }
}

async function operationsOf(root) {
  const found = []
  for (const name of inOrder(await namesIn(path.join(root, 'src/contract')))) {
    const text = await readFile(path.join(root, 'src/contract', `${name}.ts`), 'utf8')
    for (const [, row, id] of text.matchAll(/^export const (\w+) = operation\(\{\s+id: '([\w-]+)'/gm)) {
      found.push({ name, row, id })
    }
  }
  return found
}

function inOrder(names) {
  const rank = (name) => (order.includes(name) ? order.indexOf(name) : order.length)
  return names.sort((a, b) => rank(a) - rank(b))
}

async function handlersOf(root) {
  const base = path.join(root, 'src/operations')
  const folders = (await readdir(base, { withFileTypes: true })).filter((entry) => entry.isDirectory())
  const files = []
  for (const folder of folders.map(({ name }) => name).sort()) {
    for (const name of await namesIn(path.join(base, folder))) {
      const text = await readFile(path.join(base, folder, `${name}.ts`), 'utf8')
      if (text.includes('\nexport default handler(')) files.push(`${folder}/${name}`)
    }
  }
  return files
}

async function toolsOf(root, ids) {
  const names = await namesIn(path.join(root, 'tools'))
  const stray = names.find((name) => !ids.includes(name))
  if (stray) throw new Error(`tools/${stray}.ts is named after no operation`)
  return names.sort((a, b) => ids.indexOf(a) - ids.indexOf(b))
}

/** Tools with their groups. */
async function groupsOf(root, names) {
  const groups = []
  for (const name of names) {
    const text = await readFile(path.join(root, 'tools', `${name}.ts`), 'utf8')
    const group = /^ {2}group: '(\w+)'/m.exec(text)?.[1]
    if (group) groups.push([name, group])
  }
  return groups
}

async function migrationsOf(root) {
  const folder = path.join(root, 'src/store/migrations')
  const files = (await namesIn(folder)).filter((name) => /^\d{3}-/.test(name))
  return Promise.all(
    files.map(async (file) => {
      const text = await readFile(path.join(folder, `${file}.ts`), 'utf8')
      return { file, name: /^export const (\w+): Migration = /m.exec(text)[1] }
    }),
  )
}

/** The modules of a folder, by name. */
async function namesIn(folder) {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.ts') && file !== 'index.ts')
  return files.map((file) => file.slice(0, -'.ts'.length)).sort()
}

function contractIndex(operations) {
  const names = [...new Set(operations.map(({ name }) => name))]
  return indexText({
    imports: { ...importsOf(names, (name) => `* as ${camel(name)}`), './operation': 'type { Operation }' },
    about: 'Every operation, in the order in which documents and tool lists show them.',
    list: 'operations: readonly Operation[]',
    items: operations.map(({ name, row }) => `${camel(name)}.${row}`),
  })
}

function handlerIndex(files) {
  const nameOf = (file) => camel(path.basename(file))
  return indexText({
    imports: { ...importsOf(files, nameOf), './core/handler': 'type { Handler }' },
    about: 'Every handler; the start fails when an operation has none.',
    list: 'handlers: readonly Handler[]',
    items: files.map(nameOf),
  })
}

function migrationIndex(migrations) {
  const names = new Map(migrations.map(({ file, name }) => [file, name]))
  return indexText({
    imports: {
      ...importsOf([...names.keys()], (file) => `{ ${names.get(file)} }`),
      './migration': 'type { Migration }',
    },
    about: 'In the order of their file names: a new one takes the next number.',
    list: 'migrations: readonly Migration[]',
    items: [...names.values()],
  })
}

function groupIndex(groups) {
  return [
    '// Generated by scripts/indexes.mjs (npm run build); do not edit.',
    '',
    '/** The group of each tool, for tokens that are limited to groups. */',
    'export const groupOfTool: Readonly<Record<string, string>> = {',
    ...groups.map(([name, group]) => `  '${name}': '${group}',`),
    '}',
    '',
  ].join('\n')
}

function toolIndex(ids) {
  return indexText({
    imports: { '../src/mcp/tools/define-tool': 'type { Tool }', ...importsOf(ids, camel) },
    about: 'Every agent tool, in the order of the operations.',
    list: 'tools: readonly Tool[]',
    items: ids.map(camel),
  })
}

function importsOf(files, what) {
  return Object.fromEntries(files.map((file) => [`./${file}`, what(file)]))
}

/** Imports are sorted as the formatter sorts them. */
function indexText({ imports, about, list, items }) {
  const sorted = Object.entries(imports).sort(([one], [other]) => (one < other ? -1 : 1))
  return [
    '// Generated by scripts/indexes.mjs (npm run build); do not edit.',
    ...sorted.map(([file, what]) => `import ${what} from '${file}.ts'`),
    '',
    `/** ${about} */`,
    `export const ${list} = [`,
    ...items.map((item) => `  ${item},`),
    ']',
    '',
  ].join('\n')
}

function camel(name) {
  return name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase())
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeIndexes(process.cwd())
