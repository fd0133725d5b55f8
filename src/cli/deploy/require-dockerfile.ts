import path from 'node:path'
import { languageOf } from '../../domain/apps/detect-preset.ts'
import type { SourceFacts } from '../../domain/apps/source-facts.ts'
import { AppError } from '../../errors.ts'
import type { SourceListing } from './source-listing.ts'

/**
 * Fails before the upload when the Dockerfile is not among the packed files. `dockerfile` is relative to the source
 * folder, `facts` are of its context folder. F6: a function is never built without one.
 */
export function requireDockerfile(
  listing: SourceListing,
  facts: SourceFacts,
  dockerfile: string,
  isFunction: boolean,
): void {
  if (hasDockerfile(listing, dockerfile)) return
  const problem = listing.ignores(dockerfile)
    ? `${dockerfile} is excluded by ${listing.ignoreFile ?? 'the default rules'}`
    : listing.skipped.some((skipped) => skipped.path === dockerfile)
      ? `${dockerfile} is not a regular file`
      : `There is no ${dockerfile} in ${listing.root}`
  const folder = folderWith(listing, path.posix.basename(dockerfile))
  const elsewhere =
    folder === null
      ? ''
      : `There is one in ${folder}: deploy with --dir ${path.join(listing.root, folder)}, or set --context-dir ${folder} with longshore apps update. `
  throw new AppError('invalid', problem, {
    rule: isFunction ? 'F6' : undefined,
    details: `${elsewhere}${isFunction ? 'A function is built from its own Dockerfile' : 'A deploy from source needs a Dockerfile'}. Example, for code that listens on the port in $PORT:\n\n${dockerfileExample(facts)}\n`,
  })
}

export function hasDockerfile({ files }: SourceListing, dockerfile: string): boolean {
  return files.some((file) => file.path === dockerfile)
}

/** The one folder of the source that has such a file; folders that macOS adds to archives do not count. */
function folderWith({ files }: SourceListing, name: string): string | null {
  const folders = files
    .map((file) => path.posix.parse(file.path))
    .filter(({ base, dir }) => base === name && dir !== '' && !dir.startsWith('__MACOSX'))
    .map(({ dir }) => dir)
  return folders.length === 1 ? folders[0]! : null
}

/** A Dockerfile that builds the content of its own folder. */
export function dockerfileExample(facts: SourceFacts): string {
  const language = languageOf(facts)
  const copy = ['WORKDIR /app', 'COPY . .']
  const lines = {
    node: () => ['FROM node:22-alpine', ...copy, ...nodeInstall(facts.files), cmd(nodeStart(facts))],
    python: () => [
      'FROM python:3.13-slim',
      ...copy,
      ...pipInstall(facts.files),
      cmd(pythonStart(facts.files)),
    ],
    ruby: () => ['FROM ruby:3.4', ...copy, 'RUN bundle install', cmd(rubyStart(facts.files))],
    go: () => ['FROM golang:1.25', ...copy, 'RUN go build -o /app/server .', cmd(['/app/server'])],
  }[language]()
  return lines.join('\n')
}

const cmd = (words: readonly string[]) => `CMD [${words.map((word) => JSON.stringify(word)).join(', ')}]`
const inShell = (command: string) => ['sh', '-c', command]

/** Only with a lock file can a package manager install exactly the locked versions. */
function nodeInstall(names: ReadonlySet<string>): string[] {
  if (names.has('pnpm-lock.yaml')) return ['RUN corepack enable && pnpm install --frozen-lockfile --prod']
  if (names.has('yarn.lock')) return ['RUN yarn install --frozen-lockfile --production']
  if (names.has('package-lock.json') || names.has('npm-shrinkwrap.json')) return ['RUN npm ci --omit=dev']
  return names.has('package.json') ? ['RUN npm install --omit=dev'] : []
}

/** As package.json says; the program itself where possible, so that it gets SIGTERM. */
function nodeStart({ files, packageJson }: SourceFacts): string[] {
  const start = packageJson?.scripts.start
  if (start !== undefined) {
    const [, file] = /^node ([\w./-]+)$/.exec(start.trim()) ?? []
    return file === undefined ? ['npm', 'start'] : ['node', file]
  }
  if (packageJson?.main) return ['node', path.posix.normalize(packageJson.main)]
  const entries = ['server', 'index', 'app', 'main'].map((name) => `${name}.js`)
  return ['node', entries.find((name) => files.has(name)) ?? 'server.js']
}

function pipInstall(names: ReadonlySet<string>): string[] {
  if (names.has('requirements.txt')) return ['RUN pip install --no-cache-dir -r requirements.txt']
  return names.has('pyproject.toml') ? ['RUN pip install --no-cache-dir .'] : []
}

function pythonStart(names: ReadonlySet<string>): string[] {
  if (names.has('manage.py')) return inShell('python manage.py runserver 0.0.0.0:$PORT')
  return [
    'python',
    ['server', 'app', 'main'].map((name) => `${name}.py`).find((name) => names.has(name)) ?? 'app.py',
  ]
}

function rubyStart(names: ReadonlySet<string>): string[] {
  return names.has('bin/rails')
    ? inShell('bin/rails server -b 0.0.0.0 -p $PORT')
    : inShell('bundle exec rackup -o 0.0.0.0 -p $PORT')
}
