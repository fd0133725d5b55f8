import path from 'node:path'
import type { Clock } from '../../clock.ts'
import type { Config } from '../../config/config.ts'
import type { RegionSetting } from '../../config/regions.ts'
import { createDockerEngine } from '../../engines/docker/engine.ts'
import { dockerSocketAnswers } from '../../engines/docker/socket.ts'
import type { Engine, OwnedThing } from '../../engines/engine.ts'
import { createProcessEngine } from '../../engines/process/engine.ts'
import { AppError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { Db, Tx } from '../../store/db.ts'
import {
  environmentsDeployedIn,
  listRegionEngines,
  type RegionEngine,
  regionEnginesIn,
  saveRegionEngine,
} from '../../store/repositories/region-engines.ts'
import { adoptRuns } from '../../store/repositories/usage.ts'
import type { PlatformRegion } from './region.ts'

const stopGraceSeconds = 10

interface EngineOptions {
  config: Config
  db: Db
  installationId: string
  nodeName: string
  /** Other machines use the store too: each region belongs to one of them. */
  isShared: boolean
  clock: Clock
  log: Log
  /** Command line of this program, for starting the supervisor. */
  command: readonly string[]
}

/**
 * Opens the engine of each configured region. A region keeps the engine of its deployments: `auto` keeps it, and another
 * engine is rejected with instructions for moving. Throws `AppError` also when an engine is unavailable.
 */
export async function openRegions(around: EngineOptions): Promise<PlatformRegion[]> {
  return openAll(around, await settledEngines(around))
}

/**
 * Stops every container of all regions that have run before, independent of the current settings. Returns the number,
 * and the problems of engines.
 */
export async function endContainers(around: EngineOptions): Promise<{ ended: number; problems: AppError[] }> {
  let ended = 0
  const problems: AppError[] = []
  for (const one of await listRegionEngines(around.db)) {
    // A cluster runs its workloads without Longshore.
    if (one.engine === 'kubernetes' || (around.isShared && one.node !== around.nodeName)) continue
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
      await engine.tidy?.()
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

/** What the engines of this machine keep for environments; `problems` of those that could not be queried. */
export async function ownedByEngines(
  around: EngineOptions,
): Promise<{ owned: OwnedThing[]; problems: AppError[]; notes: string[] }> {
  const owned: OwnedThing[] = []
  const notes: string[] = []
  const problems: AppError[] = []
  for (const one of await listRegionEngines(around.db)) {
    if (one.engine === 'kubernetes' || (around.isShared && one.node !== around.nodeName)) continue
    const engine = createEngine(one, around)
    try {
      owned.push(...((await engine.owned?.()) ?? []))
      notes.push(...[await engine.isolationProblem?.()].flatMap((problem) => problem ?? []))
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      problems.push(error)
    } finally {
      await engine.close()
    }
  }
  return { owned, problems, notes }
}

async function settledEngines(around: EngineOptions): Promise<RegionEngine[]> {
  const { config, db, log, isShared, nodeName } = around
  const known = new Map((await listRegionEngines(db)).map((one) => [one.region, one]))
  const plainKnown = [...known.values()].some(({ plain }) => plain)
  const settled: RegionEngine[] = []
  for (const [index, setting] of config.regions.entries()) {
    const { region } = setting
    const before = known.get(region)
    const desired = await answering(setting, config)
    // Any control plane may run a cluster region, under its lease.
    const isOwned = isShared && desired !== 'kubernetes'
    if (isOwned) requireOwn(region, before?.node, nodeName)
    const engine = before ? await keptEngine(around, setting, before, desired) : desired
    if (engine === 'process' && desired === 'docker') {
      log.warn(
        { region, engine },
        `Docker is available, but the deployments of region ${region} run on the ${engine} engine and stay there. To move them: LONGSHORE_REGIONS=${region}=${engine},box=${desired}, then update-app-env with region box.`,
      )
    }
    const node = isOwned ? nodeName : isShared ? undefined : before?.node
    settled.push({ region, engine, plain: before?.plain ?? (index === 0 && !plainKnown), node })
  }
  for (const {
    region,
    engine,
    node = engine === 'kubernetes' && isShared ? '' : nodeName,
  } of known.values()) {
    if (node !== nodeName || settled.some((one) => one.region === region)) continue
    const left = await db.read((tx) => environmentsDeployedIn(tx, region))
    if (left.length === 0) continue
    log.warn(
      { region, environments: left.length },
      `The region ${region} has environments but no engine. Add ${region}=${engine} to LONGSHORE_REGIONS.`,
    )
  }
  return db.write((tx) => storeEngines(tx, settled, around))
}

/** Another control plane may have claimed a region, or the plain names, since they were read. */
async function storeEngines(
  tx: Tx,
  settled: readonly RegionEngine[],
  { isShared, nodeName }: EngineOptions,
): Promise<RegionEngine[]> {
  const known = await regionEnginesIn(tx)
  const stored: RegionEngine[] = []
  for (const one of settled) {
    const before = known.find(({ region }) => region === one.region)
    if (isShared && one.node) requireOwn(one.region, before?.node, nodeName)
    const isTaken = known.some(({ region, plain }) => plain && region !== one.region)
    const final = { ...one, plain: before?.plain ?? (one.plain && !isTaken) }
    await saveRegionEngine(tx, final)
    stored.push(final)
    // From the time when one control plane did everything.
    if (one.node && before && before.node === undefined) await adoptRuns(tx, nodeName)
  }
  return stored
}

function requireOwn(region: string, owner: string | undefined, nodeName: string): void {
  if (owner === undefined || owner === nodeName) return
  throw new AppError('unavailable', `The region ${region} runs on the machine ${owner}`, {
    details: `This machine is ${nodeName}. Name a region of its own, such as LONGSHORE_REGIONS=${nodeName
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .slice(
        0,
        31,
      )}=docker, or LONGSHORE_REGIONS=none to run no environments here. If this machine replaces ${owner}, set LONGSHORE_NODE=${owner}.`,
  })
}

/** Images and volumes cannot move between engines, so a region with deployments keeps its engine. */
async function keptEngine(
  { db }: EngineOptions,
  setting: RegionSetting,
  before: RegionEngine,
  desired: RegionEngine['engine'],
): Promise<RegionEngine['engine']> {
  const { region } = setting
  if (desired === before.engine) return desired
  const deployed = await db.read((tx) => environmentsDeployedIn(tx, region))
  if (deployed.length === 0) return desired
  if (setting.engine === 'auto') return before.engine
  const some =
    deployed.slice(0, 5).join(', ') + (deployed.length > 5 ? ` and ${deployed.length - 5} more` : '')
  throw new AppError('unavailable', `The region ${region} runs on the ${before.engine} engine`, {
    details: `${some} would lose images and volumes on ${desired}. Run both with LONGSHORE_REGIONS=${region}=${before.engine},box=${desired} and move each with update-app-env (region box), or keep LONGSHORE_ENGINE=${before.engine}.`,
  })
}

async function answering({ engine }: RegionSetting, { dockerHost }: Config): Promise<RegionEngine['engine']> {
  if (engine !== 'auto') return engine
  return (await dockerSocketAnswers(dockerHost)) ? 'docker' : 'process'
}

async function openAll(around: EngineOptions, settled: readonly RegionEngine[]): Promise<PlatformRegion[]> {
  const opened: PlatformRegion[] = []
  try {
    for (const one of settled) {
      const cluster = around.config.regions.find(({ region }) => region === one.region)?.cluster
      if (one.engine === 'kubernetes' && cluster) {
        const { openClusterRegion } = await import('./cluster.ts')
        opened.push(await openClusterRegion(cluster, around))
        continue
      }
      const engine = createEngine(one, around)
      await engine.open()
      const name = settled.length === 1 ? 'This machine' : `${one.region} (${engine.kind})`
      const setting = around.config.regions.find(({ region }) => region === one.region)
      opened.push({
        ...{ region: one.region, name, engine },
        domains: { ...around.config.domains, ...setting?.domains },
      })
    }
    return opened
  } catch (error) {
    await Promise.allSettled(opened.map(({ engine }) => engine.close()))
    throw error
  }
}

/** Regions share nothing, even on one machine; the first one uses the plain names. */
function createEngine({ region, engine, plain }: RegionEngine, around: EngineOptions): Engine {
  const { config, nodeName, clock, log, command } = around
  const installationId = plain ? around.installationId : `${around.installationId}-${region}`
  if (engine === 'docker') {
    const { dockerHost, allowHostAccess, port, gatewayPort } = config
    return createDockerEngine({
      installationId,
      nodeName,
      allowHostAccess,
      openPorts: [port, gatewayPort],
      clock,
      log,
      ...(dockerHost ? { dockerHost } : {}),
    })
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
