import type { App } from '../../contract/apps.ts'
import type { DockerPreset } from '../../contract/fields.ts'
import { AppError } from '../../errors.ts'
import { isDatabase, isFunction, isJob } from './presets.ts'

/** Which fields of an app require or exclude each other (docs/interface.md#apps, F6, F7). */
export function checkApp(app: App): void {
  const preset = app.dockerPreset
  const portless = isJob(preset) || isDatabase(preset)
  if (!portless && app.port === null) {
    throw invalid(
      'port is required',
      'Send the port the code listens on, 1 to 65535 (not for JOB and databases).',
    )
  }
  if (app.useImage && isDatabase(preset)) {
    throw invalid(
      'useImage does not go with a database preset',
      'A database preset brings its own image; choose it by dockerPresetVersion.',
    )
  }
  if (app.image !== null && !app.useImage && !isFunction(preset)) {
    throw invalid(
      'image needs useImage',
      'Leave useImage out or send true together with image, or leave image out and deploy source.',
    )
  }
  if ((app.gitNamespace === null) !== (app.gitRepo === null)) {
    throw invalid(
      'gitNamespace and gitRepo go together',
      'Send both for an app that uses a Git host, or neither.',
    )
  }
  if (app.jobConfig !== null && !isJob(preset)) {
    throw invalid(
      'jobConfig is for JOB apps only',
      'Create the app with dockerPreset JOB, or leave jobConfig out.',
    )
  }
  if (app.customDockerfileContent !== null && app.dockerfilePath !== null) {
    throw invalid('customDockerfileContent and dockerfilePath exclude each other', 'Send one of the two.')
  }
}

/** An app and its environments stay a function, a job, a database or a regular app. */
export function checkSameKind(before: App, preset: DockerPreset): void {
  const kinds = [isFunction, isJob, isDatabase] as const
  const stays = isDatabase(before.dockerPreset)
    ? before.dockerPreset === preset
    : kinds.every((isKind) => isKind(before.dockerPreset) === isKind(preset))
  if (stays) return
  throw invalid(
    `An app with preset ${before.dockerPreset} cannot become ${preset}`,
    'Functions, jobs, databases and other apps differ in more than their build. Create another app.',
  )
}

/** Whether the app's source is in a Git host; its environments then need a branch. */
export function usesGitHost(app: { gitRepo: string | null }): boolean {
  return app.gitRepo !== null
}

/** The calls that deploy something new to an app, for advice. */
export function howToDeploy(app: { useImage: boolean; isFunction: boolean; gitRepo: string | null }): string {
  const { useImage, isFunction } = app
  if (usesGitHost(app)) return 'Deploy the head of its branch (redeploy-app-env)'
  const source = 'source (request-deploy-storage-key, then notify-code-upload)'
  const image = 'an image (deploy-app-env-image)'
  if (useImage) return `Deploy ${image}`
  return isFunction ? `Deploy ${source} or ${image}` : `Deploy ${source}`
}

function invalid(message: string, details: string): AppError {
  return new AppError('invalid', message, { details })
}
