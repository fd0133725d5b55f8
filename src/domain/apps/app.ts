import type { createApp } from '../../contract/apps.ts'
import type { InputOf } from '../../contract/operation.ts'
import { AppError } from '../../errors.ts'
import { isDatabase, isFunction, isJob } from './presets.ts'

/** Which fields of an app require or exclude each other (docs/interface.md#apps, F6, F7). */
export function checkApp(input: InputOf<typeof createApp>): void {
  const preset = input.dockerPreset
  const portless = isJob(preset) || isDatabase(preset)
  if (!portless && input.port === undefined) {
    throw invalid(
      'port is required',
      'Send the port the code listens on, 1 to 65535 (not for JOB and databases).',
    )
  }
  if (input.useImage && isDatabase(preset)) {
    throw invalid(
      'useImage does not go with a database preset',
      'A database preset brings its own image; choose it by dockerPresetVersion.',
    )
  }
  if (input.image !== undefined && !input.useImage && !isFunction(preset)) {
    throw invalid(
      'image needs useImage',
      'Send useImage true together with image, or leave image out and deploy source.',
    )
  }
  if ((input.gitNamespace === undefined) !== (input.gitRepo === undefined)) {
    throw invalid(
      'gitNamespace and gitRepo go together',
      'Send both for an app that uses a Git host, or neither.',
    )
  }
  if (input.jobConfig !== undefined && !isJob(preset)) {
    throw invalid(
      'jobConfig is for JOB apps only',
      'Create the app with dockerPreset JOB, or leave jobConfig out.',
    )
  }
  if (input.customDockerfileContent !== undefined && input.dockerfilePath !== undefined) {
    throw invalid('customDockerfileContent and dockerfilePath exclude each other', 'Send one of the two.')
  }
}

/** Whether the app's source is in a Git host; its environments then need a branch. */
export function usesGitHost(app: { gitRepo: string | null }): boolean {
  return app.gitRepo !== null
}

/** The calls that deploy something new to an app, for advice. */
export function howToDeploy({ useImage, isFunction }: { useImage: boolean; isFunction: boolean }): string {
  const source = 'source (request-deploy-storage-key, then notify-code-upload)'
  const image = 'an image (deploy-app-env-image)'
  if (useImage) return `Deploy ${image}`
  return isFunction ? `Deploy ${source} or ${image}` : `Deploy ${source}`
}

function invalid(message: string, details: string): AppError {
  return new AppError('invalid', message, { details })
}
