import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { ensureNodeBaseImage, testDocker } from '../engines/docker-images.ts'

/** The number changes with the recipe below. */
const repository = 'longshore-test-npm2'

/** The base image of the tests with this machine's npm, from which presets build without a registry. */
export async function ensureNpmImage(): Promise<string> {
  const base = await ensureNodeBaseImage()
  const name = `${repository}:${base.split(':')[1]}`
  const docker = testDocker()
  if ((await docker.listImages({ filters: { reference: [name] } })).length > 0) return name
  const context = mkdtempSync(path.join(os.tmpdir(), 'longshore-npm-'))
  try {
    cpSync(npmFolder(), path.join(context, 'npm'), { recursive: true })
    writeFileSync(path.join(context, 'npm.sh'), '#!/bin/sh\nexec node /opt/npm/bin/npm-cli.js "$@"\n')
    const lines = [
      `FROM ${base}`,
      'COPY npm /opt/npm',
      'COPY npm.sh /usr/local/bin/npm',
      'RUN chmod +x /usr/local/bin/npm && mkdir -p /usr/bin && cp /bin/env /usr/bin/env',
    ]
    writeFileSync(path.join(context, 'Dockerfile'), `${lines.join('\n')}\n`)
    const archive = execFileSync('tar', ['-C', context, '-c', '.'], { maxBuffer: 256 * 1024 * 1024 })
    const stream = await docker.buildImage(archive as unknown as NodeJS.ReadableStream, { t: name })
    await new Promise<void>((resolve, reject) => {
      docker.modem.followProgress(stream, (error, output: { error?: string }[]) => {
        const refused = error ?? output.find((one) => one.error)?.error
        if (refused) reject(new Error(`the npm image could not be built: ${refused}`))
        else resolve()
      })
    })
    return name
  } finally {
    rmSync(context, { recursive: true, force: true })
  }
}

function npmFolder(): string {
  const npm = execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim()
  return path.resolve(path.dirname(realpathSync(npm)), '..')
}
