import type { DockerPreset } from '../../contract/fields.ts'
import { AppError } from '../../errors.ts'
import { commitVariableNames } from './commit-variables.ts'
import type { PackageFacts, SourceFacts } from './source-facts.ts'
import { staticServerJs } from './static-server.ts'

interface GeneratedDockerfileOptions {
  /** Base image with node and npm. */
  nodeImage: string
  /** Names of the build-time variables: RUN gets only declared ones. */
  buildVariables: readonly string[]
}

/**
 * The Dockerfile of a preset for source without one (docs/interface.md#apps): the same source gives the same
 * text. Throws `AppError('invalid')` that names what the source lacks.
 *
 * - NODE_JS, EXPRESS: install, the `build` script if there is one, then the `start` script, `main` or a usual
 *   file name
 * - NEXT_JS: the same with Next's own commands as defaults
 * - STATIC: the `build` script if there is one; serves the folder with index.html
 */
export function generatedDockerfile(
  preset: DockerPreset,
  source: SourceFacts,
  options: GeneratedDockerfileOptions,
): string {
  const lines = [
    `FROM ${options.nodeImage}`,
    'WORKDIR /app',
    ...options.buildVariables.map((name) => `ARG ${name}`),
  ]
  const isStatic = preset === 'STATIC'
  if (source.packageJson) lines.push(...installSteps(source, source.packageJson))
  else if (preset === 'NEXT_JS')
    throw lacks('a package.json', 'Add one that names next, or choose another preset.')
  else lines.push('COPY . .')
  const build = buildStep(preset, source)
  // After the install, which a new commit must not repeat.
  if (build !== null) lines.push(...commitVariableNames.map((name) => `ARG ${name}`), build)
  lines.push('ENV NODE_ENV=production')
  // Docker sets HOSTNAME to the container's own name, and Next would listen only on that address.
  if (preset === 'NEXT_JS') lines.push('ENV HOSTNAME=0.0.0.0')
  const start = isStatic ? staticStart(source, build !== null) : startCommand(preset, source)
  lines.push(`CMD ${JSON.stringify(start)}`)
  return `${lines.join('\n')}\n`
}

type Manager = 'npm' | 'yarn' | 'pnpm'

function managerOf(
  { files }: SourceFacts,
  { packageManager }: PackageFacts,
): { name: Manager; locked: boolean } {
  if (files.has('pnpm-lock.yaml')) return { name: 'pnpm', locked: true }
  if (files.has('yarn.lock')) return { name: 'yarn', locked: true }
  const locked = files.has('package-lock.json') || files.has('npm-shrinkwrap.json')
  const named = packageManager?.split('@')[0]
  return { name: !locked && (named === 'yarn' || named === 'pnpm') ? named : 'npm', locked }
}

/** Dependencies are installed before the source is copied, so that a code change does not reinstall them. */
function installSteps(source: SourceFacts, facts: PackageFacts): string[] {
  const manager = managerOf(source, facts)
  if (facts.dependencies.size === 0 && !manager.locked) return ['COPY . .']
  const install = `RUN ${installCommand(manager, facts)}`
  const runsOwnCode = ['preinstall', 'install', 'postinstall', 'prepare'].some(
    (script) => script in facts.scripts,
  )
  if (facts.needsWholeSource || runsOwnCode) return ['COPY . .', install]
  const wanted = [
    'package.json',
    'package-lock.json',
    'npm-shrinkwrap.json',
    'yarn.lock',
    '.yarnrc.yml',
    'pnpm-lock.yaml',
    'pnpm-workspace.yaml',
    '.npmrc',
  ].filter((name) => name === 'package.json' || source.files.has(name))
  return [`COPY ${wanted.join(' ')} ./`, install, 'COPY . .']
}

function installCommand({ name, locked }: { name: Manager; locked: boolean }, facts: PackageFacts): string {
  // A build needs the development packages too, whatever a build variable sets NODE_ENV to.
  const builds = 'build' in facts.scripts
  const modern = /^yarn@[2-9]/.test(facts.packageManager ?? '')
  switch (name) {
    case 'npm':
      return `npm ${locked ? 'ci' : 'install --no-package-lock'} --no-audit --no-fund ${builds ? '--include=dev' : '--omit=dev'}`
    case 'pnpm':
      return `corepack enable && pnpm install${locked ? ' --frozen-lockfile' : ''}${builds ? ' --prod=false' : ' --prod'}`
    case 'yarn':
      if (modern) return `corepack enable && yarn install${locked ? ' --immutable' : ''}`
      return `yarn install${locked ? ' --frozen-lockfile' : ''} --non-interactive --production=${!builds}`
  }
}

function buildStep(preset: DockerPreset, { packageJson }: SourceFacts): string | null {
  if (packageJson && 'build' in packageJson.scripts) return 'RUN npm run build'
  return preset === 'NEXT_JS' ? 'RUN node_modules/.bin/next build' : null
}

export const usualEntries = [
  'server.js',
  'index.js',
  'app.js',
  'main.js',
  'server.mjs',
  'index.mjs',
  'src/server.js',
  'src/index.js',
  'src/app.js',
  'dist/server.js',
  'dist/index.js',
]

function startCommand(preset: DockerPreset, { files, packageJson }: SourceFacts): string[] {
  const scripts = packageJson?.scripts ?? {}
  const start = scripts.start ?? (preset === 'NEXT_JS' ? 'next start' : undefined)
  if (start !== undefined) {
    if ('prestart' in scripts || 'poststart' in scripts) return ['npm', 'start']
    // Without npm in between, the program itself gets SIGTERM and can finish its requests.
    const isOneCommand = !/[;&|<>\n`]|\$\(/.test(start) && !/^\s*[A-Za-z_][A-Za-z0-9_]*=/.test(start)
    return ['sh', '-c', `export PATH="$PWD/node_modules/.bin:$PATH"; ${isOneCommand ? 'exec ' : ''}${start}`]
  }
  const main = packageJson?.main?.replace(/^\.\//, '') ?? null
  const built = 'build' in scripts
  const entry =
    main !== null && (built || files.has(main)) ? main : usualEntries.find((name) => files.has(name))
  if (entry !== undefined) return ['node', entry]
  throw lacks(
    'a way to start it',
    `Add a "start" script to package.json, or one of ${usualEntries.slice(0, 3).join(', ')}, or a Dockerfile.`,
  )
}

const builtFolders = ['dist', 'build', 'out', '_site', 'public', 'www']
export const staticFolders = ['public', 'dist', 'build', 'out', '_site', 'www', 'site', 'static', 'docs', '.']

function staticStart({ files }: SourceFacts, isBuilt: boolean): string[] {
  const holdsIndex = (folder: string) => files.has(folder === '.' ? 'index.html' : `${folder}/index.html`)
  const folders = isBuilt
    ? builtFolders
    : files.has('index.html')
      ? ['.']
      : staticFolders.filter(holdsIndex).slice(0, 1)
  if (folders.length === 0) {
    throw lacks(
      'an index.html',
      `Put it in the source's root or in ${staticFolders.slice(0, 2).join(' or ')}, or add a build script.`,
    )
  }
  return ['node', '-e', staticServerJs, isBuilt ? 'app' : 'site', ...folders]
}

function lacks(what: string, details: string): AppError {
  return new AppError(
    'invalid',
    `The source has no Dockerfile, and none can be generated: it lacks ${what}.`,
    {
      details,
    },
  )
}
