import path from 'node:path'
import { AppError } from '../../errors.ts'
import type { SourceListing } from './source-listing.ts'

/**
 * Fails before the upload when the Dockerfile is not among the packed files. `dockerfile` is relative to the source
 * folder. F6: a function is never built without one.
 */
export function requireDockerfile(listing: SourceListing, dockerfile: string, isFunction: boolean): void {
  if (listing.files.some((file) => file.path === dockerfile)) return
  const problem = listing.ignores(dockerfile)
    ? `${dockerfile} is excluded by ${listing.ignoreFile ?? 'the default rules'}`
    : listing.skipped.some((skipped) => skipped.path === dockerfile)
      ? `${dockerfile} is not a regular file`
      : `There is no ${dockerfile} in ${listing.root}`
  throw new AppError('invalid', problem, {
    rule: isFunction ? 'F6' : undefined,
    details: `${isFunction ? 'A function is built from its own Dockerfile' : 'A deploy from source needs a Dockerfile'}. Example, for code that listens on the port in $PORT:\n\n${dockerfileExample(listing, path.posix.dirname(dockerfile))}\n`,
  })
}

/** A Dockerfile that builds the content of its own folder, or of the source's first folder. */
export function dockerfileExample({ files }: Pick<SourceListing, 'files'>, folder: string): string {
  const near = files.filter((file) => [folder, '.'].includes(path.posix.dirname(file.path)))
  const names = new Set(near.map((file) => path.posix.basename(file.path)))
  const python =
    names.has('requirements.txt') || (!names.has('package.json') && names.has(pythonEntry(names)))
  const lines = python
    ? ['FROM python:3.13-slim', 'WORKDIR /app', 'COPY . .', ...pipInstall(names)]
    : ['FROM node:22-alpine', 'WORKDIR /app', 'COPY . .', ...nodeInstall(names)]
  const start = python ? ['python', pythonEntry(names)] : ['node', nodeEntry(names)]
  return [...lines, `CMD ${JSON.stringify(start).replace(',', ', ')}`].join('\n')
}

/** Only with a lock file can a package manager install exactly the locked versions. */
function nodeInstall(names: ReadonlySet<string>): string[] {
  if (names.has('pnpm-lock.yaml')) return ['RUN corepack enable && pnpm install --frozen-lockfile --prod']
  if (names.has('yarn.lock')) return ['RUN yarn install --frozen-lockfile --production']
  if (names.has('package-lock.json') || names.has('npm-shrinkwrap.json')) return ['RUN npm ci --omit=dev']
  return names.has('package.json') ? ['RUN npm install --omit=dev'] : []
}

function pipInstall(names: ReadonlySet<string>): string[] {
  return names.has('requirements.txt') ? ['RUN pip install --no-cache-dir -r requirements.txt'] : []
}

function nodeEntry(names: ReadonlySet<string>): string {
  return (
    ['server', 'index', 'app', 'main'].map((name) => `${name}.js`).find((name) => names.has(name)) ??
    'server.js'
  )
}

function pythonEntry(names: ReadonlySet<string>): string {
  return ['server', 'app', 'main'].map((name) => `${name}.py`).find((name) => names.has(name)) ?? 'app.py'
}
