import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { factsOf } from '../../../src/cli/deploy/check-source.ts'
import { listSource } from '../../../src/cli/deploy/pack-source.ts'
import { dockerfileExample, requireDockerfile } from '../../../src/cli/deploy/require-dockerfile.ts'
import { sourceFacts } from '../../../src/domain/apps/source-facts.ts'

let root: string
beforeEach(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'longshore-dockerfile-'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

async function write(files: Record<string, string>) {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(root, name)), { recursive: true })
    await writeFile(path.join(root, name), text)
  }
}

describe('the Dockerfile', () => {
  const thrown = async (dockerfile: string, isFunction = true) => {
    const listing = await listSource(root)
    try {
      requireDockerfile(listing, await factsOf(listing, path.dirname(dockerfile)), dockerfile, isFunction)
      return null
    } catch (error) {
      return error
    }
  }

  it('F6 a function without one is refused before the upload, with an example', async () => {
    await write({ 'server.js': 'x' })
    expect(await thrown('Dockerfile')).toMatchObject({
      rule: 'F6',
      details: expect.stringContaining(
        'FROM node:22-alpine\nWORKDIR /app\nCOPY . .\nCMD ["node", "server.js"]\n',
      ),
    })
    expect(await thrown('Dockerfile', false)).toMatchObject({ rule: undefined })
  })

  it('names the place of the only one, beside what macOS adds to an archive', async () => {
    await write({ '._proj': 'x', '__MACOSX/proj/._Dockerfile': 'x', 'proj/Dockerfile': 'FROM x' })
    expect(await thrown('Dockerfile', false)).toMatchObject({
      details: expect.stringContaining(
        `There is one in proj: deploy with --dir ${root}/proj, or set --context-dir proj with longshore apps update.`,
      ),
    })
    await write({ 'other/Dockerfile': 'FROM x' })
    expect(await thrown('Dockerfile', false)).not.toMatchObject({
      details: expect.stringContaining('There is one'),
    })
  })

  it('says when an ignore rule hides it, and takes one in another place', async () => {
    await write({ '.gitignore': 'Dockerfile\n', Dockerfile: 'FROM x', 'deploy/D': 'FROM x', a: 'x' })
    expect(await thrown('Dockerfile')).toMatchObject({ message: 'Dockerfile is excluded by .gitignore' })
    expect(await thrown('deploy/D')).toBeNull()
  })

  it.each([
    [['package.json', 'index.js'], /node:22[\s\S]*RUN npm install --omit=dev\nCMD \["node", "index.js"\]$/],
    [['package.json', 'package-lock.json'], /RUN npm ci --omit=dev\nCMD \["node", "server.js"\]$/],
    [['package.json', 'yarn.lock'], /RUN yarn install --frozen-lockfile/],
    [['package.json', 'pnpm-lock.yaml'], /RUN corepack enable && pnpm install --frozen-lockfile/],
    [['requirements.txt', 'main.py'], /FROM python:[\s\S]*-r requirements.txt\nCMD \["python", "main.py"\]$/],
    [['app.py'], /FROM python:\S+\nWORKDIR \/app\nCOPY \. \.\nCMD \["python", "app.py"\]$/],
    [['sub/package-lock.json', 'package.json'], /RUN npm install/],
    [['package.json'], /CMD \["npm", "start"\]$/, { scripts: { start: 'tsx src/main.ts' } }],
    [['package.json', 'index.js'], /CMD \["node", "bin\/www"\]$/, { scripts: { start: 'node bin/www' } }],
    [['package.json', 'index.js'], /CMD \["node", "lib\/main.js"\]$/, { main: './lib/main.js' }],
    [['manage.py'], /CMD \["sh", "-c", "python manage.py runserver 0.0.0.0:\$PORT"\]$/],
    [['Gemfile', 'bin/rails'], /CMD \["sh", "-c", "bin\/rails server -b 0.0.0.0 -p \$PORT"\]$/],
    [['go.mod'], /RUN go build/],
  ] as [string[], RegExp, object?][])('is suggested as %j need it', (names, text, packageJson = {}) => {
    const json = names.includes('package.json') ? JSON.stringify(packageJson) : null
    expect(dockerfileExample(sourceFacts(names, json))).toMatch(text)
  })
})
