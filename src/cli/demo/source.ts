import { cp, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { pushNodeImage } from './cluster.ts'
import type { Stage } from './stage.ts'

/** The folder of the sample, or a copy with another base image if its own cannot be pulled. */
export async function prepareSource(stage: Stage): Promise<string> {
  if (stage.cluster?.registry) return sourceForCluster(stage, stage.cluster.registry)
  if (stage.created.engine !== 'docker') return stage.exampleDir
  const wanted = 'node:20-alpine'
  let dir = stage.exampleDir
  await stage.step(`base image ${wanted}`, async () => {
    const { ensureNodeImage } = await import('../deploy/local-base-image.ts')
    const pullTimeoutMs = process.platform === 'linux' ? 12_000 : 300_000
    const base = await ensureNodeImage(wanted, { pullTimeoutMs, signal: stage.signal })
    stage.created.image = base
    if (base.origin !== 'made here') return base.origin === 'present' ? 'is present' : 'pulled'
    dir = await copyFrom(stage, base.image)
    return `cannot be pulled here, so ${base.image}, built from this machine's Node.js, is used instead`
  })
  return dir
}

async function sourceForCluster(stage: Stage, registry: string): Promise<string> {
  let dir = stage.exampleDir
  await stage.step('base image', async () => {
    const image = await pushNodeImage(registry, stage.signal)
    dir = await copyFrom(stage, image)
    return `${image}, pushed from this machine's Node.js`
  })
  return dir
}

/** A copy of the sample with another base image. */
async function copyFrom({ exampleDir, workDir }: Stage, image: string): Promise<string> {
  const copy = path.join(workDir, 'hello-function')
  await cp(exampleDir, copy, { recursive: true })
  const dockerfile = await readFile(path.join(copy, 'Dockerfile'), 'utf8')
  await writeFile(path.join(copy, 'Dockerfile'), dockerfile.replace(/^FROM .*$/m, `FROM ${image}`))
  return copy
}
