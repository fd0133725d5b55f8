import { mkdtempSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { systemClock } from '../../src/clock.ts'
import { createDockerEngine } from '../../src/engines/docker/engine.ts'
import type { Engine } from '../../src/engines/engine.ts'
import { createProcessEngine } from '../../src/engines/process/engine.ts'
import { createLog } from '../../src/log.ts'
import { ensureNpmImage } from '../builds/npm-image.ts'
import type { SourceFiles } from '../builds/sample-sources.ts'
import { randomId } from '../engines/docker-fixture.ts'
import { removeInstallation } from '../engines/docker-images.ts'
import { ensurePythonImage } from '../engines/python-image.ts'
import { bundledSupervisorEntry } from '../engines/supervisor-entry.ts'
import { removeFolder } from '../remove-folder.ts'

/** A separate real engine, and stand-ins on it for the base images of programs.ts. */
export interface EngineSetup {
  engine: Engine
  bases: Readonly<Record<string, string>>
  /** Removes everything that the engine made. */
  remove(): Promise<unknown>
}

const log = createLog('test', 'silent')
const clock = systemClock

export async function processSetup(): Promise<EngineSetup> {
  const home = mkdtempSync(path.join(os.tmpdir(), 'longshore-diagnosis-'))
  const engine = createProcessEngine({ home, clock, log, supervisorEntry: bundledSupervisorEntry() })
  const remove = async () => removeFolder(home)
  return { engine, bases: {}, remove }
}

/** Images made of the programs of this machine: no registry is needed. */
export async function dockerSetup(): Promise<EngineSetup> {
  const installationId = `test-${randomId()}`
  const engine = createDockerEngine({ installationId, clock, log })
  const bases = { 'node:20-alpine': await ensureNpmImage(), 'python:3.12-slim': await ensurePythonImage() }
  const remove = async () => {
    await engine.close()
    await removeInstallation(installationId)
  }
  return { engine, bases, remove }
}

export function withBases(source: SourceFiles, bases: EngineSetup['bases']): SourceFiles {
  if (source.Dockerfile === undefined) return source
  const text = Object.entries(bases).reduce(
    (before, [image, own]) => before.replaceAll(`FROM ${image}\n`, `FROM ${own}\n`),
    source.Dockerfile,
  )
  return { ...source, Dockerfile: text }
}
