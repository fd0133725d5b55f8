import path from 'node:path'
import type { Clock } from './clock.ts'
import type { Config, EngineChoice, RegionSetting } from './config.ts'
import { createDockerEngine } from './engines/docker/docker-engine.ts'
import { dockerSocketAnswers } from './engines/docker/docker-socket.ts'
import type { Engine } from './engines/engine.ts'
import { createProcessEngine } from './engines/process/process-engine.ts'
import { AppError } from './errors.ts'
import type { Log } from './log.ts'
import type { Db } from './store/db.ts'
import {
  environmentsDeployedIn,
  listRegionEngines,
  type RegionEngine,
  saveRegionEngine,
} from './store/region-engines.ts'

const stopGraceSeconds = 10

/** A region with its own instance of an engine. */
export interface PlatformRegion {
  region: string
  name: string
  engine: Engine
}

export interface EngineSurroundings {
  config: Config
  db: Db
  installationId: string
  nodeName: string
  clock: Clock
  log: Log
  /** Command line of this program, to start the supervisor with. */
  command: readonly string[]
}

/**
 * Opens the engine of each region that the settings name. A region keeps the engine it has deployments on: `auto`
 * stays with it, and another one is refused with the way to move. Throws `AppError` also when an engine is away.
 */
export async function openRegions(around: EngineSurroundings): Promise<PlatformRegion[]> {
  return openAll(around, await settledEngines(around))
}

/**
 * Ends every container of the regions that have run before, whatever the settings of this shell say. Answers how many,
 * and what kept an engine from it.
 */
export async function endContainers(
  around: EngineSurroundings,
): Promise<{ ended: number; problems: AppError[] }> {
  let ended = 0
  const problems: AppError[] = []
  for (const one of await listRegionEngines(around.db)) {
    const engine = createEngine(one, around)
    try {
      await engine.open()
      const containers = await engine.list()
      await Promise.all(
        containers.map(async ({ name }) => {
          await engine.stop(name, stopGraceSeconds)
          await engine.remove(name)
        }),
      )
      ended += containers.length
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      problems.push(error)
    } finally {
      await engine.close()
    }
  }
  return { ended, problems }
}

async function settledEngines(around: EngineSurroundings): Promise<RegionEngine[]> {
  const { config, db, log } = around
  const known = new Map((await listRegionEngines(db)).map((one) => [one.region, one]))
  const plainKnown = [...known.values()].some(({ plain }) => plain)
  const settled: RegionEngine[] = []
  for (const [index, setting] of config.regions.entries()) {
    const { region } = setting
    const before = known.get(region)
    const wished = await answering(setting.engine, config)
    const engine = before ? await keptEngine(around, setting, before, wished) : wished
    if (engine === 'process' && wished === 'docker') {
      log.warn(
        { region, engine },
        `Docker answers, but what is deployed in the region ${region} runs on the ${engine} engine, so it stays there. To move: LONGSHORE_REGIONS=${region}=${engine},box=${wished}, then update-app-env with region box.`,
      )
    }
    settled.push({ region, engine, plain: before?.plain ?? (index === 0 && !plainKnown) })
  }
  for (const { region, engine } of known.values()) {
    if (settled.some((one) => one.region === region)) continue
    const left = await db.read((tx) => environmentsDeployedIn(tx, region))
    if (left.length === 0) continue
    log.warn(
      { region, environments: left.length },
      `Nothing serves the region ${region}, which has environments. Add ${region}=${engine} to LONGSHORE_REGIONS.`,
    )
  }
  await db.write(async (tx) => {
    for (const one of settled) await saveRegionEngine(tx, one)
  })
  return settled
}

/** Images and volumes do not change engines, so a region with deployments stays where they are. */
async function keptEngine(
  { db }: EngineSurroundings,
  setting: RegionSetting,
  before: RegionEngine,
  wished: RegionEngine['engine'],
): Promise<RegionEngine['engine']> {
  const { region } = setting
  if (wished === before.engine) return wished
  const deployed = await db.read((tx) => environmentsDeployedIn(tx, region))
  if (deployed.length === 0) return wished
  if (setting.engine === 'auto') return before.engine
  const some =
    deployed.slice(0, 5).join(', ') + (deployed.length > 5 ? ` and ${deployed.length - 5} more` : '')
  throw new AppError('unavailable', `The region ${region} runs on the ${before.engine} engine`, {
    details: `${some} would lose their images and volumes on ${wished}. Run both with LONGSHORE_REGIONS=${region}=${before.engine},box=${wished} and move each with update-app-env (region box), or keep LONGSHORE_ENGINE=${before.engine}.`,
  })
}

async function answering(choice: EngineChoice, { dockerHost }: Config): Promise<RegionEngine['engine']> {
  switch (choice) {
    case 'docker':
    case 'process':
      return choice
    case 'auto':
      return (await dockerSocketAnswers(dockerHost)) ? 'docker' : 'process'
    case 'kubernetes':
      throw new AppError('unavailable', 'The kubernetes engine is not served by this version', {
        details: 'Set LONGSHORE_ENGINE to docker, process or auto.',
      })
  }
}

async function openAll(
  around: EngineSurroundings,
  settled: readonly RegionEngine[],
): Promise<PlatformRegion[]> {
  const opened: PlatformRegion[] = []
  try {
    for (const one of settled) {
      const engine = createEngine(one, around)
      await engine.open()
      const name = settled.length === 1 ? 'This machine' : `${one.region} (${engine.kind})`
      opened.push({ region: one.region, name, engine })
    }
    return opened
  } catch (error) {
    await Promise.allSettled(opened.map(({ engine }) => engine.close()))
    throw error
  }
}

/** Regions share nothing, also where two of them are on one machine: the first one keeps the plain names. */
function createEngine({ region, engine, plain }: RegionEngine, around: EngineSurroundings): Engine {
  const { config, nodeName, clock, log, command } = around
  const installationId = plain ? around.installationId : `${around.installationId}-${region}`
  if (engine === 'docker') {
    const { dockerHost } = config
    return createDockerEngine({ installationId, nodeName, clock, log, ...(dockerHost ? { dockerHost } : {}) })
  }
  const home = plain ? config.home : path.join(config.home, 'regions', region)
  const supervisorEntry = [...command, 'supervise']
  return createProcessEngine({
    home,
    installationId,
    clock,
    log,
    supervisorEntry,
    nodeImage: config.nodeImage,
  })
}
