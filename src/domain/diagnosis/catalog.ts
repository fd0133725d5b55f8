import type { DiagnosisCause } from '../../contract/diagnosis.ts'

interface CatalogEntry {
  meaning: string
  fix: string
}

/** The meaning and the fix of each cause, for people and agents (docs/interface.md#diagnosis). */
export const catalog: Readonly<Record<DiagnosisCause, CatalogEntry>> = {
  'engine-away': {
    meaning: 'The container engine of the region does not answer, so nothing can start, stop or be replaced.',
    fix: 'The operator brings the engine back; the platform then continues by itself.',
  },
  interrupted: {
    meaning: 'The platform was interrupted during the newest deployment.',
    fix: 'Deploy the same version again with redeploy-app-env.',
  },
  'not-supported': {
    meaning: 'The engine of the region cannot run what was deployed.',
    fix: 'Deploy to a region with another engine, or change the base image or preset.',
  },
  'image-pull': {
    meaning: 'The container image could not be pulled from its registry.',
    fix: 'Check name, tag and access to the registry, then deploy the image again.',
  },
  'git-fetch': {
    meaning: 'The source could not be fetched from the Git host.',
    fix: 'Check gitNamespace and gitRepo of the app and the branch of the environment.',
  },
  'lost-upload': {
    meaning: 'The uploaded source is not stored any more, so the version cannot be built.',
    fix: 'Upload the source again.',
  },
  'bad-archive': {
    meaning: 'The uploaded archive cannot be unpacked.',
    fix: 'Pack plain files and folders as .tgz or .zip and upload again.',
  },
  'no-dockerfile': {
    meaning: 'The source has no usable Dockerfile, or lacks the files that the preset needs.',
    fix: 'Add a Dockerfile, or correct dockerfilePath, contextDir or dockerPreset with update-app, then redeploy-app-env.',
  },
  'lock-file': {
    meaning: 'The package manager refused the lock file: it is missing or does not match the manifest.',
    fix: 'Run the package manager locally, include the updated lock file, and deploy again.',
  },
  'build-out-of-memory': {
    meaning: 'A build step was killed because it ran out of memory.',
    fix: 'Use less memory in the build, or build elsewhere and deploy the image.',
  },
  'build-timeout': {
    meaning: 'The build did not finish within the time allowed.',
    fix: 'Make the build shorter, or build elsewhere and deploy the image.',
  },
  'build-step': {
    meaning: 'A step of the build failed.',
    fix: 'Read the build log, correct the step, and deploy again.',
  },
  'missing-module': {
    meaning: 'The program loads a module, package or shared library that the image does not contain.',
    fix: 'Add it to the dependencies that the image installs, and deploy again.',
  },
  'missing-file': {
    meaning: 'The build or the program opens a file or folder that the source or the image does not contain.',
    fix: 'Include it in the source (not in .dockerignore), let the build make it, or correct the path, and deploy again.',
  },
  'missing-variable': {
    meaning: 'The program needs an environment variable that the environment does not have.',
    fix: 'Set it with update-app-env-variables, then apply or deploy again.',
  },
  'volume-path': {
    meaning:
      'The program opens the mount path of its volume, which on the process engine is a path of the machine.',
    fix: 'Set a variable to the mount path (DATA_DIR=/data): its value becomes the folder of the volume, for the program to open.',
  },
  'database-down': {
    meaning: 'A managed database that the program uses does not run.',
    fix: 'Start the database with start-app-env, or diagnose it.',
  },
  'dependency-refused': {
    meaning: 'A service that the program needs cannot be reached or refuses the connection or login.',
    fix: 'Check address, port and credentials of the service, and that it runs.',
  },
  'disk-full': {
    meaning: 'A disk or volume has no space left.',
    fix: 'Remove data or give the environment more disk.',
  },
  'out-of-memory': {
    meaning: 'The program used more memory than the container has.',
    fix: 'Raise zClouds or use less memory.',
  },
  'bad-command': {
    meaning:
      'The command of the container cannot be run: no such program, script or file, or not executable.',
    fix: 'Correct CMD or ENTRYPOINT of the image.',
  },
  'loopback-bind': {
    meaning: 'The program listens on 127.0.0.1 or ::1, where only its own container reaches it.',
    fix: 'Listen on 0.0.0.0.',
  },
  'wrong-port': {
    meaning: 'The program listens on another port than the app declares, or its port is taken.',
    fix: 'Listen on the port in the PORT variable.',
  },
  'start-timeout': {
    meaning: 'The program did not accept connections within the time allowed for a start.',
    fix: 'Listen first and do slow work afterwards; the log shows what it waits for.',
  },
  'exits-at-once': {
    meaning: 'The program ended before it accepted connections, for a reason that its output does not name.',
    fix: 'Read the runtime log; run the image locally with the same variables.',
  },
  'crash-loop': {
    meaning:
      'Containers end again and again: those of the serving version, or of one in its stability window.',
    fix: 'Read the runtime log; go back to an earlier version with redeploy-app-env.',
  },
  'failing-checks': {
    meaning:
      'The health check of the environment fails: its containers run and do not answer as expected, or accept no connections any more.',
    fix: 'Correct what the check looks at, or the check.',
  },
  quota: {
    meaning: 'The environment needs more containers, and a limit of the account forbids them.',
    fix: 'An admin raises the limit of the account, or another environment becomes smaller.',
  },
  'concurrency-saturated': {
    meaning: 'All containers that a function may have are busy, and requests wait or are rejected.',
    fix: 'Raise maxScale or containerConcurrency.',
  },
  'request-timeout': {
    meaning: 'Requests take longer than the time allowed, and the gateway ends them with 504.',
    fix: 'Answer faster, or raise timeoutSeconds and responseStartTimeoutSeconds.',
  },
  'unanswered-requests': {
    meaning: 'Clients wait for a second or more and disconnect before a response begins.',
    fix: 'Answer faster; the evidence names the requests, and the runtime log what the program waits for.',
  },
  'error-burst': {
    meaning: 'A considerable share of requests is answered with a 5xx status.',
    fix: 'Read the runtime log; get-app-env-history shows what happened before.',
  },
  'scale-limit': {
    meaning: 'The environment runs as many containers as it may, and they are at their CPU or memory target.',
    fix: 'Raise maxContainers, the container count or zClouds.',
  },
  'slow-responses': {
    meaning: 'Requests are answered, and take five seconds or more.',
    fix: 'Find what the program waits for in its log; answer first and do slow work afterwards, or in a job.',
  },
  'slow-start': {
    meaning: 'A container takes long until it accepts connections.',
    fix: 'Listen first and do slow work afterwards; a function keeps containers warm with minScale.',
  },
  'failed-run': {
    meaning: 'The newest run of a job failed or took too long, for a reason that its output does not name.',
    fix: 'Read the output of the run; correct the program, its command or its timeoutSeconds.',
  },
  'copy-waiting': {
    meaning: 'A backup, a restore or the copy of a move has not begun yet.',
    fix: 'Wait: it begins by itself, or fails with the reason. The evidence says what it waits for.',
  },
  'alert-firing': {
    meaning:
      'An alert fires. If no other finding explains it, the measured values may be those of a problem that is over.',
    fix: 'See get-app-env-history; the alert resolves by itself when its metric is back within the threshold.',
  },
  stopped: {
    meaning: 'The environment is stopped, or nothing was deployed to it yet.',
    fix: 'Start it with start-app-env, or deploy to it.',
  },
  'pending-change': {
    meaning: 'Settings were saved that are not in force yet.',
    fix: 'Apply them with apply-app-env-changes.',
  },
  'alert-misconfigured': {
    meaning: 'An alert cannot fire, always fires, or notifies no contact point.',
    fix: 'Correct it with update-alert.',
  },
}
