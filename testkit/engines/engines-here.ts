import { dockerHere } from './docker-here.ts'
import { ensureNodeBaseImage } from './docker-images.ts'

export interface EngineHere {
  engine: 'process' | 'docker'
  /** Image that a Dockerfile can begin with, without any registry. */
  base: string
}

/** The engines of this machine; docker is left out with a message if its socket does not answer. */
export async function enginesHere(): Promise<EngineHere[]> {
  const engines: EngineHere[] = [{ engine: 'process', base: 'node:20-alpine' }]
  if (dockerHere) engines.push({ engine: 'docker', base: await ensureNodeBaseImage() })
  else process.stderr.write('SKIPPED: stories on the docker engine, because Docker is not available\n')
  return engines
}
