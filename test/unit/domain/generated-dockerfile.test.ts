import { describe, expect, it } from 'vitest'
import type { DockerPreset } from '../../../src/contract/fields.ts'
import { generatedDockerfile } from '../../../src/domain/apps/generated-dockerfile.ts'
import type { PackageFacts } from '../../../src/domain/apps/source-facts.ts'

const packageFacts: PackageFacts = {
  scripts: {},
  main: null,
  packageManager: null,
  dependencies: new Set(['express']),
  needsWholeSource: false,
}

function lines(
  preset: DockerPreset,
  files: string[],
  facts: Partial<PackageFacts> | null = {},
  buildVariables: string[] = [],
): string[] {
  const packageJson = facts === null ? null : { ...packageFacts, ...facts }
  const all = packageJson ? [...files, 'package.json'] : files
  return generatedDockerfile(
    preset,
    { files: new Set(all), packageJson },
    { nodeImage: 'node:22-alpine', buildVariables },
  )
    .trimEnd()
    .split('\n')
}

describe('generatedDockerfile', () => {
  it('installs before it copies the code, so that a change of code alone does not install again', () => {
    expect(
      lines('NODE_JS', ['package-lock.json', 'server.js'], { scripts: { start: 'node server.js' } }),
    ).toEqual([
      'FROM node:22-alpine',
      'WORKDIR /app',
      'COPY package.json package-lock.json ./',
      'RUN npm ci --no-audit --no-fund --omit=dev',
      'COPY . .',
      'ENV NODE_ENV=production',
      'CMD ["sh","-c","export PATH=\\"$PWD/node_modules/.bin:$PATH\\"; exec node server.js"]',
    ])
  })

  it('builds with the development packages when there is a build script', () => {
    const made = lines('EXPRESS', ['package-lock.json'], {
      scripts: { build: 'tsc', start: 'node dist/index.js' },
    })
    expect(made).toContain('RUN npm ci --no-audit --no-fund --include=dev')
    expect(made.indexOf('RUN npm run build')).toBeLessThan(made.indexOf('ENV NODE_ENV=production'))
  })

  it.each([
    [['yarn.lock'], null, 'RUN yarn install --frozen-lockfile --non-interactive --production=true'],
    [['yarn.lock'], 'yarn@4.1.0', 'RUN corepack enable && yarn install --immutable'],
    [['pnpm-lock.yaml'], null, 'RUN corepack enable && pnpm install --frozen-lockfile --prod'],
    [[], 'pnpm@9.1.0', 'RUN corepack enable && pnpm install --prod'],
    [[], null, 'RUN npm install --no-package-lock --no-audit --no-fund --omit=dev'],
  ])('takes the package manager of the lock file: %j %s', (files, packageManager, install) => {
    expect(lines('NODE_JS', [...files, 'server.js'], { packageManager })).toContain(install)
  })

  it('copies everything first when the install needs it', () => {
    for (const facts of [{ needsWholeSource: true }, { scripts: { postinstall: 'node setup.js' } }]) {
      const made = lines('NODE_JS', ['package-lock.json', 'server.js'], facts)
      expect(made.indexOf('COPY . .')).toBe(2)
    }
  })

  it('installs nothing where nothing is wanted', () => {
    expect(lines('NODE_JS', ['server.js'], { dependencies: new Set<string>() }).join('\n')).not.toContain(
      'RUN',
    )
    expect(lines('NODE_JS', ['index.js'], null)).toContain('CMD ["node","index.js"]')
  })

  it('declares build variables, for only declared ones reach RUN', () => {
    expect(lines('NODE_JS', ['server.js'], {}, ['A', 'B'])).toEqual(
      expect.arrayContaining(['ARG A', 'ARG B']),
    )
  })

  it.each([
    [{ start: 'next start && echo done' }, '; next start && echo done'],
    [{ start: 'PORT=1 node a.js' }, '; PORT=1 node a.js'],
    [{ start: 'node a.js' }, '; exec node a.js'],
  ])('lets one command take the place of the shell, and only one: %j', (scripts, end) => {
    const [, , command] = JSON.parse((lines('NODE_JS', [], { scripts }).at(-1) ?? '').slice('CMD '.length))
    expect(command.endsWith(end)).toBe(true)
  })

  it('keeps hooks around start', () => {
    const scripts = { prestart: 'node migrate.js', start: 'node a.js' }
    expect(lines('NODE_JS', [], { scripts })).toContain('CMD ["npm","start"]')
  })

  it('NEXT_JS builds and starts by Next’s own commands, on all interfaces', () => {
    const made = lines('NEXT_JS', ['package-lock.json'])
    expect(made).toContain('RUN node_modules/.bin/next build')
    expect(made).toContain('ENV HOSTNAME=0.0.0.0')
    expect(made.at(-1)).toContain('exec next start')
  })

  it.each([
    [['index.html'], null, ['site', '.']],
    [['public/index.html'], null, ['site', 'public']],
    [['index.html'], { scripts: { build: 'vite build' } }, ['app', 'dist']],
  ])('STATIC serves the folder with index.html: %j', (files, facts, [kind, folder]) => {
    const command = JSON.parse((lines('STATIC', files, facts).at(-1) ?? '').slice('CMD '.length))
    expect(command.slice(3, 5)).toEqual([kind, folder])
  })

  it.each([
    ['NODE_JS', ['readme.md'], 'a way to start it'],
    ['STATIC', ['readme.md'], 'an index.html'],
    ['NEXT_JS', ['index.js'], 'a package.json'],
  ] as const)('says what a source for %s lacks', (preset, files, what) => {
    expect(() => lines(preset, [...files], null)).toThrow(`it lacks ${what}`)
  })
})
