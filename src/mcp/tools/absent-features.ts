/** What people look for on other platforms, by the words of a tool or input name, and the nearest that Longshore has. */
const absent: readonly (readonly [words: RegExp, what: string, nearest: string])[] = [
  [
    /\b(exec|ssh|shell|terminal)\b/,
    'shell in a running container',
    'a job (dockerPreset JOB), which runs a command; get-logs shows the output of containers',
  ],
  [
    /\b(crons?|crontab|schedules?|scheduled|timers?)\b/,
    'schedules',
    'a job (dockerPreset JOB), whose runs a scheduler of yours starts with start-job-run',
  ],
  [/\bgpus?\b/, 'GPUs', 'zClouds, which size CPU and memory'],
  [/\b(cdn|purge|edge)\b/, 'CDN', 'a CDN of another provider in front of the address of the environment'],
  [
    /\b(buckets?|s3|blobs?|object storage)\b/,
    'object storage',
    'a volume (useVolume and mountPath of update-app-env)',
  ],
  [
    /\b(queues?|topics?|pubsub|kafka)\b/,
    'queues of its own',
    'a database with dockerPreset RABBITMQ or REDIS (create-app)',
  ],
  [
    /\b(canary|traffic|weights?)\b/,
    'shares of the traffic for a version',
    'a second environment of the app, and redeploy-app-env to go back',
  ],
  [/\b(mailbox(?:es)?|smtp|send mail)\b/, 'e-mail for apps', 'variables with the login of a mail provider'],
]

/** A sentence about a feature that does not exist; null if no words of the name are those of one. */
export function absentFeature(name: string): string | null {
  const words = name
    .slice(0, 64)
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll(/[-_.]/g, ' ')
    .toLowerCase()
  const found = absent.find(([pattern]) => pattern.test(words))
  return found === undefined ? null : `Longshore has no ${found[1]}; the nearest is ${found[2]}.`
}
