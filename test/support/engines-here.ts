import { dockerSocketAnswers } from '../../src/engines/docker/docker-socket.ts'
import { ensureNodeBaseImage } from './docker-images.ts'

export interface EngineHere {
  engine: 'process' | 'docker'
  /** Image that a Dockerfile can begin with, without any registry. */
  base: string
}

/** The engines this machine can run stories on; docker is left out, and said so, where its socket is silent. */
export async function enginesHere(): Promise<EngineHere[]> {
  const engines: EngineHere[] = [{ engine: 'process', base: 'node:20-alpine' }]
  if (await dockerSocketAnswers()) engines.push({ engine: 'docker', base: await ensureNodeBaseImage() })
  else process.stderr.write('SKIPPED: stories on the docker engine, for no Docker answers here\n')
  return engines
}
