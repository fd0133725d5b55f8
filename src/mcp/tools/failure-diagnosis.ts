interface Failure {
  reason: string
  message: string
}

/** Reasons whose messages contain only the platform's own text. */
const ours: ReadonlySet<string> = new Set([
  'exited',
  'exits-at-once',
  'wrong-port',
  'loopback-bind',
  'start-timeout',
  'out-of-memory',
  'failing-checks',
  'unreachable',
  'timeout',
  'build timeout',
  'interrupted',
  'lost upload',
  'superseded',
  'canceled',
])

/** For other reasons: their messages quote a Dockerfile, a file name, an image or program output. */
const diagnoses: Readonly<Record<string, string>> = {
  'build step': 'A build step failed; the build log shows which.',
  'no Dockerfile':
    'The source has no usable Dockerfile in the expected place. Check dockerfilePath, contextDir and dockerPreset of the app.',
  'bad archive': 'The uploaded archive was rejected. Pack plain files and folders only, and upload again.',
  git: 'The repository could not be fetched. Check gitNamespace, gitRepo and branch.',
  'image pull': 'The image could not be pulled. Check its name and tag, and that the registry is reachable.',
  'missing-module':
    'The program cannot find a module that it imports; the log names it. Let the build install it, or correct the path.',
  'bad-command':
    'The container could not be started. Check the command, user and working directory of the image.',
  'not supported': 'The engine of this region does not support this.',
  database: 'The database reported an error.',
  'volume copy':
    'The volume could not be copied to the new region, so the environment stays where it was. get-app-env-history says why.',
}

export function isOurMessage({ reason }: Failure): boolean {
  return ours.has(reason)
}

/** Why a deployment failed and how to fix it, in the platform's own text only. */
export function diagnosisOf(failure: Failure | null): string {
  if (failure === null) return ''
  return isOurMessage(failure) ? failure.message : (diagnoses[failure.reason] ?? '')
}
