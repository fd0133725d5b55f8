import type { DiagnosisCause, Finding } from '../../contract/diagnosis.ts'
import type { Facts } from './facts.ts'
import { listenHint } from './listen-hint.ts'

type Step = string | ((facts: Facts, finding: Finding) => string)

const again = 'then deploy again'

/** The next step for a person if no call repairs the finding: a call, or the line to change in the code. */
const steps: Readonly<Record<DiagnosisCause, Step>> = {
  'engine-away': 'The operator of the installation brings the engine back; then it continues by itself.',
  interrupted: 'Deploy the version again.',
  'not-supported': 'Change what the evidence names, or use an environment in a region of another engine.',
  'image-pull': imageStep,
  'git-fetch':
    'Correct the branch with update-app-env, or create an app with the right gitNamespace and gitRepo; then redeploy-app-env.',
  'lost-upload': 'Upload the source again with request-deploy-storage-key.',
  'bad-archive': ({ usesGit }) =>
    usesGit
      ? 'Correct in the repository what the evidence names, push it, then call redeploy-app-env.'
      : 'Pack plain files and folders as .tgz or .zip, and upload again.',
  'no-dockerfile': `Add a Dockerfile at the place that the evidence names, ${again}; or set a dockerPreset that brings one with update-app, then redeploy-app-env.`,
  'lock-file': lockFileStep,
  'build-out-of-memory':
    'Use less memory in the build, or build elsewhere and deploy the image with deploy-app-env-image.',
  'build-timeout':
    'Make the build shorter, or build elsewhere and deploy the image with deploy-app-env-image.',
  'build-step': `get-logs with type BUILD shows the whole output; correct the step, ${again}.`,
  'missing-module': `Add the module to the dependencies that the build installs (package.json, requirements.txt), or correct its path, ${again}.`,
  'missing-file': `Include the file or folder that the evidence names in the source (not in .dockerignore), let the build make it, or correct the path, ${again}.`,
  // Changes of an environment without a version start no container: only a deployment does.
  'missing-variable': ({ current, usesGit }) =>
    `Set the variable with update-app-env-variables, ${current !== null ? 'then apply or deploy again' : usesGit ? 'then call redeploy-app-env' : again}.`,
  'volume-path': `Set a variable to the mount path with update-app-env-variables (DATA_DIR=/data): its value becomes the folder of the volume. Let the program open the folder that the variable names, ${again}.`,
  'database-down': databaseStep,
  'dependency-refused':
    'Check that the service runs, and its address, port and login in the variables (update-app-env-variables).',
  'disk-full': ({ kind }) =>
    kind === 'database'
      ? 'Remove data, or give the database more disk with update-app-env.'
      : 'Write less to the disk of the container: remove files, or keep data in a database.',
  'out-of-memory': 'Use less memory, or raise zClouds with update-app-env and apply the change.',
  'bad-command': ({ kind }) =>
    kind === 'job'
      ? 'Correct command in jobConfig with update-app-env: it names a program of the image, or a file of it.'
      : `Correct CMD or ENTRYPOINT: it names a program and a file of the image, such as CMD ["node", "server.js"], ${again}.`,
  'loopback-bind': listenStep,
  'wrong-port': (facts) =>
    `Set the port that it listens on with update-app, then redeploy-app-env. Or: ${listenStep(facts)}`,
  'start-timeout': (facts) => `get-logs shows what it waits for. ${listenStep(facts)}`,
  'exits-at-once': `get-logs shows its output. A program that serves keeps running; correct it, ${again}.`,
  'crash-loop': `get-logs shows its output; correct the program, ${again}.`,
  'failing-checks': 'Correct what the check looks at, or the check.',
  quota: 'An admin raises the limit of the account, or another environment becomes smaller.',
  'concurrency-saturated':
    'Answer faster, or raise maxScale or containerConcurrency with update-function-config.',
  'request-timeout': ({ kind }) =>
    kind === 'function'
      ? 'Answer faster, or raise timeoutSeconds and responseStartTimeoutSeconds with update-function-config.'
      : 'Answer first and do slow work afterwards, or move the work to a job.',
  'unanswered-requests':
    'Answer faster, or answer first and do slow work afterwards; get-logs shows what the program did.',
  'error-burst': 'get-logs shows the errors, get-app-env-history what happened before.',
  'scale-limit': 'Raise zClouds with update-app-env, or make the program need less.',
  'slow-responses':
    'get-logs shows what the program waits for; answer first and do slow work afterwards, or in a job.',
  'slow-start': 'Listen first and do slow work afterwards.',
  'failed-run':
    'get-logs with jobRunId shows all output of the run; correct the program, or command and timeoutSeconds in jobConfig with update-app-env.',
  'copy-waiting': 'It begins by itself; diagnose-app-env shows no waiting copy once it has.',
  'alert-firing': 'get-app-env-history shows what happened before, get-logs what its requests got.',
  stopped: ({ latest, kind, takesImagesOnly, usesGit }) => {
    if (latest !== null) return 'Start it with start-app-env.'
    if (takesImagesOnly) return 'Deploy an image with deploy-app-env-image.'
    if (usesGit) return 'Deploy the head of its branch with redeploy-app-env.'
    const source = 'Deploy source with request-deploy-storage-key'
    return kind === 'function' ? `${source}, or an image with deploy-app-env-image.` : `${source}.`
  },
  'pending-change': 'Put them in force with apply-app-env-changes.',
  'alert-misconfigured': 'Correct it with update-alert.',
}

/** The finding with its next step as the end of its summary; a safe fix is the next step itself. */
export function withNextStep(facts: Facts, finding: Finding): Finding {
  if (finding.fix?.safe) return finding
  const step = steps[finding.cause]
  const general = typeof step === 'string' ? step : step(facts, finding)
  const text = facts.usesGit ? general.replace(again, 'push it, then call redeploy-app-env') : general
  return { ...finding, summary: `${finding.summary} ${text}` }
}

/** A source deployment pulls the base image of its Dockerfile; the image of a database is not the tenant's choice. */
function imageStep({ kind, latest }: Facts): string {
  if (kind === 'database') {
    return 'The operator loads the image into the engine, or sets LONGSHORE_DATABASE_IMAGES to a registry that has it; then redeploy-app-env.'
  }
  if (latest?.type === 'BUILD') {
    return `Check the base image that the evidence names (FROM in the Dockerfile) and the access to its registry, ${again}.`
  }
  return 'Check the name, the tag and the access to the registry, then deploy the image again with deploy-app-env-image.'
}

function listenStep({
  port,
  failedLog,
  servingLog,
}: Pick<Facts, 'port' | 'failedLog' | 'servingLog'>): string {
  const expected = port === null ? 'the port in PORT' : `the port in PORT (the app declares ${port})`
  return `Listen on ${expected} on 0.0.0.0, ${listenHint([...failedLog, ...servingLog])}, ${again}.`
}

const lockTools: readonly (readonly [RegExp, string])[] = [
  [/pnpm/i, 'pnpm install'],
  [/yarn/i, 'yarn install'],
  [/poetry|pyproject/i, 'poetry lock'],
  [/pipfile/i, 'pipenv lock'],
  [/\buv\.lock/i, 'uv lock'],
  [/gemfile/i, 'bundle lock'],
  [/composer/i, 'composer update --lock'],
  [/cargo/i, 'cargo generate-lockfile'],
  [/go\.sum/i, 'go mod tidy'],
]

function lockFileStep(_facts: Facts, { evidence }: Finding): string {
  const text = evidence.map((one) => one.text ?? '').join('\n')
  const command = lockTools.find(([matches]) => matches.test(text))?.[1]
  if (command !== undefined) return `Run \`${command}\` locally, include the lock file, ${again}.`
  return `Run \`npm install\` locally, include package-lock.json, ${again}; a Dockerfile that runs \`npm install\` needs no lock file.`
}

function databaseStep({ kind }: Facts): string {
  return kind === 'database'
    ? 'get-logs shows its output; redeploy-app-env starts it again.'
    : 'Start it with start-app-env, or see why it does not run with diagnose-app-env.'
}
