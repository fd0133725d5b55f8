import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import { untilRead } from '../until.ts'

/** The cluster of the tests: KUBECONFIG names it, and the other variables its parts; a test is skipped without its part. */
export const cluster = {
  kubeconfig: process.env.KUBECONFIG,
  /** Push and pull address of a registry. */
  registry: process.env.REGISTRY,
  /** Address that takes requests by their Host header. */
  ingress: process.env.INGRESS,
  prometheus: process.env.PROMETHEUS,
  buildkit: process.env.BUILDKIT_HOST,
  buildctl: process.env.BUILDCTL,
  /** The domain of Knative routes. */
  domain: process.env.DOMAIN,
}

const run = promisify(execFile)

/** Runs kubectl, with a manifest or text as its input, and returns what it prints; throws when it fails. */
export async function kubectl(args: readonly string[], input?: unknown): Promise<string> {
  const started = run(process.env.KUBECTL ?? 'kubectl', [...args], { maxBuffer: 32 * 1024 * 1024 })
  if (input !== undefined) started.child.stdin?.end(typeof input === 'string' ? input : JSON.stringify(input))
  return (await started).stdout
}

/** Warnings of the API server while kubectl runs. */
export async function kubectlWarnings(args: readonly string[]): Promise<string> {
  return (await run(process.env.KUBECTL ?? 'kubectl', [...args])).stderr
}

/** A namespace of its own for one test, deleted after it. */
export async function newNamespace(): Promise<string> {
  const name = `lst-${randomBytes(4).toString('hex')}`
  await kubectl(['create', 'namespace', name])
  // Without it the API server refuses pods.
  const account = ['-n', name, 'get', 'serviceaccount', 'default', '--ignore-not-found', '-o', 'name']
  await untilRead(() => kubectl(account), Boolean, 'the service account of the namespace')
  onTestFinished(async () => void (await kubectl(['delete', 'namespace', name, '--wait=false'])))
  return name
}

export async function applyManifests(...objects: readonly object[]): Promise<void> {
  await kubectl(['apply', '-f', '-'], { apiVersion: 'v1', kind: 'List', items: objects })
}
