import { systemClock } from '../../clock.ts'
import type { AppEnv } from '../../contract/app-envs.ts'
import type { Cli } from '../command.ts'
import { exitCodes } from '../command-io.ts'
import { hostHints } from '../host-hints.ts'
import type { Connection } from '../local/installation.ts'
import { readableDuration } from '../progress.ts'
import { failureText } from '../rows/words.ts'
import type { WatchEnd } from './watch.ts'

/** Prints how the deployment ended; the exit code says it too. */
export function reportDeployment(
  run: { cli: Cli; connection: Connection; startedMs: number },
  appEnv: AppEnv,
  begun: { contentId: string; version: number },
  end: WatchEnd,
): number {
  const { io, json } = run.cli
  const seconds = Math.round(systemClock.monotonicMs() - run.startedMs) / 1000
  const took = readableDuration(seconds * 1000)
  const urls = end.status.hosts.map((host) => host.url)
  const failure =
    end.kind === 'serves'
      ? null
      : end.kind === 'superseded'
        ? {
            reason: 'superseded',
            message: `Version ${end.deployment.version} replaced it before it served.`,
          }
        : (end.deployment.failure ?? { reason: 'unknown', message: 'No reason was recorded.' })
  const name = appEnv.cliEnvName
  if (json) {
    const { contentId, version } = begun
    const facts = { ok: failure === null, appEnvId: appEnv.appEnvId, envName: name, contentId, version }
    const servingVersion = end.status.currentVersion
    io.stdout.write(`${JSON.stringify({ ...facts, servingVersion, urls, seconds, failure })}\n`)
  } else if (failure === null) {
    io.stdout.write(
      `Deployed ${name} version ${begun.version} in ${took}${urls.length > 0 ? `: ${urls.join(' ')}` : ''}\n`,
    )
    const hints = appEnv.isJob ? [runHint(appEnv)] : hostHints(urls, run.connection.url)
    for (const line of hints) io.stderr.write(`${line}\n`)
  } else {
    const { status, currentVersion } = end.status
    const serving =
      currentVersion === null || status === 'STOPPED'
        ? 'No version is serving.'
        : `Version ${currentVersion} still serves.`
    io.stdout.write(`Failed ${name} version ${begun.version} after ${took}: ${failureText(failure, name)}\n`)
    const next = end.kind === 'failed' ? ` longshore why ${name} shows the cause and the next step.` : ''
    io.stderr.write(`${serving}${next}
`)
  }
  return failure === null ? exitCodes.done : exitCodes.failed
}

/** Without a command of its own a job runs the image's CMD; a run can name another one. */
function runHint({ cliEnvName, effectiveJobConfig }: AppEnv): string {
  const own = effectiveJobConfig?.command?.value
  return `Start a run: longshore jobs run ${cliEnvName}${own ? '' : ' -- <command>'}`
}
