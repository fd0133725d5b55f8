import { type ChildProcess, fork } from 'node:child_process'
import path from 'node:path'
import { cancelJobRun, startJobRun } from '../../src/contract/jobs.ts'
import { newId } from '../../src/domain/ids.ts'
import { AppError } from '../../src/errors.ts'
import { findEnvironment, saveEnvironment } from '../../src/store/repositories/environments.ts'
import { listActiveJobRuns, listLiveJobAttempts } from '../../src/store/repositories/job-runs.ts'
import { insertContent, insertRollout } from '../../src/store/repositories/rollouts.ts'
import { bundledEntry } from '../engines/supervisor-entry.ts'
import { TestPlatform } from '../platform/test-platform.ts'
import type { StressOrder, StressReport, StressSchedulerOptions } from './stress-scheduler.ts'
import { dockerSetup, processSetup, type StressSetup } from './stress-setup.ts'
import { activeRunLimit, judgeStress, type StressVerdict } from './stress-verdict.ts'

interface StressOptions {
  runs: number
  /** `kill -9` of a scheduler or, each time after so many, of the engine's supervisor. */
  kills: number
  engineKillEvery?: number
  /** `process` when left out. On `docker` the engine is shared and is not killed. */
  engine?: 'process' | 'docker'
  environments: number
}

interface StressFigures {
  runs: number
  refusedByLimit: number
  canceled: number
  schedulerKills: number
  engineKills: number
  clockSteps: number
  lostReplies: number
  lateReplies: number
  seconds: number
}

const clockScale = 100
const hourMs = 3_600_000

const works = [':', 'sleep 0.1', 'sleep 0.4', 'exit 1', 'sleep 0.1; exit 7', 'sleep 30'] as const

interface Scheduler {
  child: ChildProcess
  report: StressReport
  wallStepMs: number
}

/**
 * Job runs under two schedulers that are real processes, on the real store and process engine: schedulers and the
 * engine's supervisor are ended with `kill -9`, answers of the engine are lost or late, wall clocks step by an hour,
 * runs are canceled. The containers record every real run in a file they append to.
 */
export class JobStressTest {
  readonly #options: StressOptions
  readonly #figures: StressFigures = {
    runs: 0,
    refusedByLimit: 0,
    canceled: 0,
    schedulerKills: 0,
    engineKills: 0,
    clockSteps: 0,
    lostReplies: 0,
    lateReplies: 0,
    seconds: 0,
  }
  readonly #schedulers: Scheduler[] = []
  #platform!: TestPlatform
  #setup!: StressSetup
  #environments: string[] = []
  #over = false

  constructor(options: StressOptions) {
    this.#options = options
  }

  /** `onProgress` gets the figures now and then. */
  async run(onProgress: (figures: StressFigures) => void = () => {}): Promise<StressFigures & StressVerdict> {
    this.#platform = await TestPlatform.start({ reconciles: false })
    this.#setup = await (this.#options.engine === 'docker' ? dockerSetup() : processSetup())
    const startedMs = performance.now()
    try {
      await this.#prepare()
      for (let index = 0; index < 2; index += 1) this.#schedulers[index] = this.#start(0)
      const telling = setInterval(() => onProgress({ ...this.#figures }), 10_000)
      const troubles = this.#trouble()
      await Promise.all(Array.from({ length: 4 }, () => this.#submit()))
      await this.#untilAllKills()
      await this.#untilSettled()
      this.#over = true
      await troubles
      clearInterval(telling)
      this.#figures.seconds = Math.round((performance.now() - startedMs) / 1000)
      const verdict = await judgeStress(this.#platform.db, this.#environments, await this.#setup.witness())
      return { ...this.#figures, ...verdict }
    } finally {
      this.#over = true
      for (const { child } of this.#schedulers) child.kill('SIGKILL')
      await this.#platform.close()
      await this.#setup.close()
    }
  }

  /** Environments as if they were deployed: an image of the process engine is in service. */
  async #prepare(): Promise<void> {
    const { image, env, ttlSecondsAfterFinished } = this.#setup
    const envVars = Object.entries(env).map(([name, value]) => ({ name, value, isSecret: false }))
    for (let count = 0; count < this.#options.environments; count += 1) {
      const { appEnvId } = await this.#platform.makeEnvironment({
        app: { dockerPreset: 'JOB' },
        environment: {
          jobConfig: { maxConcurrency: activeRunLimit, ttlSecondsAfterFinished },
          envVars,
        },
      })
      await this.#pretendDeployed(appEnvId, image)
      this.#environments.push(appEnvId)
    }
  }

  #pretendDeployed(appEnvId: string, image: string): Promise<void> {
    const { db, now: createdAt, region } = this.#platform
    return db.write(async (tx) => {
      const environment = (await findEnvironment(tx, { appEnvId }))!
      const of = { appEnvId, contentId: newId('dep'), version: 1, createdBy: null, createdAt }
      await insertContent(tx, {
        ...of,
        ...{ type: 'IMAGE', image, containerImage: image, images: { [region]: image } },
        ...{ uploadId: null, gitBranch: null, gitCommitId: null },
      })
      const rolloutId = newId('rol')
      await insertRollout(tx, {
        ...of,
        ...{ rolloutId, region, status: 'DEPLOYED', settings: environment.applied, failure: null },
        ...{ activity: 'DEPLOY_IMAGE', deployedAt: createdAt },
      })
      const deployed = { currentRolloutId: rolloutId, currentVersion: 1, desiredState: 'running' as const }
      await saveEnvironment(tx, { ...environment, ...deployed, status: 'RUNNING' })
    })
  }

  #start(wallStepMs: number): Scheduler {
    const options: StressSchedulerOptions = {
      engine: this.#setup.engine,
      database: path.join(this.#platform.dir, 'longshore.db'),
      logs: path.join(this.#platform.dir, `logs-${newId('pod')}`),
      wallStepMs,
      clockScale,
      lostShare: 0.2,
    }
    const [, file] = bundledEntry('testkit/jobs/stress-scheduler.ts')
    const child = fork(file!, [JSON.stringify(options)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    const scheduler: Scheduler = { child, report: { lostReplies: 0, lateReplies: 0 }, wallStepMs }
    child.on('message', (report: StressReport) => {
      this.#figures.lostReplies += report.lostReplies - scheduler.report.lostReplies
      this.#figures.lateReplies += report.lateReplies - scheduler.report.lateReplies
      scheduler.report = report
    })
    return scheduler
  }

  /** One of the callers that start runs, through the API: the limit of active runs is the platform's own. */
  async #submit(): Promise<void> {
    const { client } = this.#platform.admin
    while (this.#figures.runs < this.#options.runs) {
      const appEnvId = pick(this.#environments)
      const work = pick(works)
      const input = {
        appEnvId,
        command: this.#setup.prologue + work,
        timeoutSeconds: work === 'sleep 30' ? 2 : 120,
        backoffLimit: Math.floor(Math.random() * 3),
      }
      this.#figures.runs += 1
      try {
        const { jobRun } = await client.call(startJobRun, input)
        if (Math.random() < 0.15) void this.#cancel(jobRun.jobRunId)
      } catch (error) {
        this.#figures.runs -= 1
        if (!(error instanceof AppError)) throw error
        if (error.message === 'Limit of active runs reached') this.#figures.refusedByLimit += 1
        else if (error.kind !== 'unavailable') throw error
        await pause(20)
      }
    }
  }

  async #cancel(jobRunId: string): Promise<void> {
    await pause(Math.random() * 1_500)
    try {
      const { jobRun } = await this.#platform.admin.client.call(cancelJobRun, { jobRunId })
      if (jobRun.status === 'CANCELED') this.#figures.canceled += 1
    } catch {
      // The store was busy: then it is not canceled.
    }
  }

  /** Kills spread over the whole test; clocks step in between. */
  async #trouble(): Promise<void> {
    const { runs, kills, engineKillEvery = 10 } = this.#options
    for (let kill = 1; kill <= kills; kill += 1) {
      const share = (runs * kill) / (kills + 1)
      while (!this.#over && this.#figures.runs < share) await pause(10)
      await pause(Math.random() * 300)
      if (this.#over) return
      if (kill % engineKillEvery === 0 && this.#setup.killEngine) this.#killEngine(this.#setup.killEngine)
      else await this.#killScheduler(Math.floor(Math.random() * 2))
      const { child } = this.#schedulers[kill % 2]!
      const wallStepMs = Math.random() < 0.5 ? hourMs : -hourMs
      this.#schedulers[kill % 2]!.wallStepMs += wallStepMs
      child.send({ wallStepMs } satisfies StressOrder, () => {})
      this.#figures.clockSteps += 1
    }
  }

  async #killScheduler(index: number): Promise<void> {
    const { child, wallStepMs } = this.#schedulers[index]!
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
    this.#figures.schedulerKills += 1
    this.#schedulers[index] = this.#start(wallStepMs)
  }

  #killEngine(kill: () => void): void {
    kill()
    this.#figures.engineKills += 1
  }

  async #untilAllKills(): Promise<void> {
    const done = () => this.#figures.schedulerKills + this.#figures.engineKills
    while (done() < this.#options.kills) await pause(20)
  }

  /**
   * Waits until no work has been left for a second, two minutes at most; the verdict reports work that is still open as
   * forgotten.
   */
  async #untilSettled(): Promise<void> {
    const deadlineMs = performance.now() + 120_000
    for (let quiet = 0; quiet < 10 && performance.now() < deadlineMs; ) {
      const open = await this.#platform.db.read(
        async (tx) => (await listActiveJobRuns(tx)).length + (await listLiveJobAttempts(tx)).length,
      )
      quiet = open === 0 ? quiet + 1 : 0
      await pause(100)
    }
  }
}

function pick<T>(from: readonly T[]): T {
  return from[Math.floor(Math.random() * from.length)] as T
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
