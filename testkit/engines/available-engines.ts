import { dockerAvailable } from './docker-available.ts'
import { ensureNodeBaseImage } from './docker-images.ts'

export interface AvailableEngine {
  engine: 'process' | 'docker'
  /** Image that a Dockerfile can begin with, without any registry. */
  base: string
}

/** The engines of this machine; the summary of the run names docker if its socket does not answer. */
export async function availableEngines(): Promise<AvailableEngine[]> {
  const engines: AvailableEngine[] = [{ engine: 'process', base: 'node:20-alpine' }]
  if (dockerAvailable) engines.push({ engine: 'docker', base: await ensureNodeBaseImage() })
  return engines
}
